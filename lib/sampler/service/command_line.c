/* SPDX-License-Identifier: MIT */
/* Options become the text of a configuration: what they mean is said in one place. */
#define _GNU_SOURCE
#include "command_line.h"
#include "events.h"

#include <getopt.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../wire/json_writer.h"

#define FREQUENCY 99
#define READ_MS 20		/* a child that lives shorter is unwound without its memory */

static const struct option options[] = {
	{ "pid", required_argument, NULL, 'p' }, { "all", no_argument, NULL, 'a' },
	{ "name", required_argument, NULL, 'n' }, { "uid", required_argument, NULL, 'u' },
	{ "cgroup", required_argument, NULL, 'G' }, { "frequency", required_argument, NULL, 'F' },
	{ "period", required_argument, NULL, 'c' }, { "event", required_argument, NULL, 'e' },
	{ "stacks", required_argument, NULL, 'g' }, { "kernel", no_argument, NULL, 'k' },
	{ "seconds", required_argument, NULL, 'd' }, { "output", required_argument, NULL, 'o' },
	{ "debuginfod", no_argument, NULL, 'B' }, { "no-inline", no_argument, NULL, 'I' },
	{ "traced", optional_argument, NULL, 'T' }, { "data-source", required_argument, NULL, 'S' },
	{ "quiet", no_argument, NULL, 'q' }, { "print", no_argument, NULL, 'P' },
	{ "check", no_argument, NULL, 'C' }, { "duration", required_argument, NULL, 'D' },
	{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* By what a file's name ends with. */
static const struct { const char *suffix, *format; } formats[] = {
	{ ".svg", "svg" }, { ".folded", "folded" }, { ".pb.gz", "pprof" }, { ".pprof", "pprof" },
	{ ".pftrace", "perfetto" }, { ".perfetto-trace", "perfetto" }, { ".txt", "top" },
};

struct reader {
	struct command_line *line;
	char *error;
	size_t size;
};

__attribute__((format(printf, 2, 3)))
static bool fail(struct reader *reader, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(reader->error, reader->size, format, list);
	va_end(list);
	return false;
}

/* The row of `formats`; -1: none. */
static int row_of(const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t suffix = strlen(formats[i].suffix);

		if (length > suffix && strcmp(path + length - suffix, formats[i].suffix) == 0)
			return (int)i;
	}
	return -1;
}

static const char *suffix_of(const char *path)
{
	const int row = row_of(path);

	return row < 0 ? "" : formats[row].suffix;
}

static const char *format_of(const char *path)
{
	const int row = row_of(path);

	return strcmp(path, "-") == 0 ? "folded" : row < 0 ? NULL : formats[row].format;
}

/* A whole number, or one with a fraction times `scale`; -1: it is none, or not in 1..most. */
static long number(const char *text, double scale, double most)
{
	char *end;
	double value = strtod(text, &end) * scale;

	return *text == '\0' || *end != '\0' || !(value >= 1) || value > most ? -1 : (long)value;
}

static bool target(struct reader *reader, const char *kind, const char *text, size_t length)
{
	struct command_line *line = reader->line;
	size_t at = line->target_count;

	if (at == TARGETS)
		return fail(reader, "more than %d processes are named", TARGETS);
	if (asprintf(&line->made[at], "%s%.*s", kind, (int)length, text) < 0) {
		line->made[at] = NULL;
		return fail(reader, "no memory");
	}
	line->targets[line->target_count++] = line->made[at];
	return true;
}

/* -p 1,2,3: as many targets. */
static bool pids(struct reader *reader, const char *text)
{
	for (;; text++) {
		size_t length = strspn(text, "0123456789");

		if (length == 0 || (text[length] != ',' && text[length] != '\0'))
			return fail(reader, "-p needs the number of a process, or several with "
				    "commas");
		if (!target(reader, "pid:", text, length))
			return false;
		text += length;
		if (*text == '\0')
			return true;
	}
}

static bool user(struct reader *reader, const char *text)
{
	const struct passwd *known;
	char number[16];

	if (text[strspn(text, "0123456789")] == '\0')
		return target(reader, "uid:", text, strlen(text));
	known = getpwnam(text);
	if (!known)
		return fail(reader, "-u %s: there is no such user", text);
	(void)snprintf(number, sizeof(number), "%u", known->pw_uid);
	return target(reader, "uid:", number, strlen(number));
}

static bool output(struct reader *reader, const char *path)
{
	struct command_line *line = reader->line;

	for (size_t i = 0; i < line->output_count; i++)
		if (strcmp(line->outputs[i], path) == 0)
			return fail(reader, "-o %s: it is named twice", path);
	if (!format_of(path))
		return fail(reader, "-o %s: the name says what is written: .svg (a flame graph), "
			    ".folded, .pb.gz (pprof), .pftrace (Perfetto), .txt (a table of "
			    "functions), or - for folded stacks to standard output", path);
	if (line->output_count == COMMAND_LINE_OUTPUTS)
		return fail(reader, "more than %d outputs", COMMAND_LINE_OUTPUTS);
	line->outputs[line->output_count++] = path;
	return true;
}

/* -e a,{b,c}:S: each is watched for itself. */
static bool events(struct reader *reader, const char *text)
{
	struct command_line *line = reader->line;

	for (;;) {
		const size_t length = events_first(text);

		if (length == 0)
			return fail(reader, "-e needs an event, or several with commas");
		if (line->event_count == SOURCES)
			return fail(reader, "more than %d events", SOURCES);
		line->events[line->event_count] = strndup(text, length);
		if (!line->events[line->event_count])
			return fail(reader, "no memory");
		line->event_count++;
		if (text[length] == '\0')
			return true;
		text += length + 1;
	}
}

static bool stacks(struct reader *reader, const char *text)
{
	static const char *const words[][2] = {
		{ "dwarf", "dwarf" }, { "fp", "frames" }, { "frames", "frames" },
		{ "none", "none" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i][0]) == 0)
			reader->line->stacks = words[i][1];
	}
	return reader->line->stacks ? true :
		fail(reader, "-g is dwarf, fp (frame pointers) or none");
}

/* Milliseconds of --duration: 0 is until a signal. */
static bool milliseconds(struct reader *reader, const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	reader->line->duration_ms = value;
	return *text != '\0' && *end == '\0' && value >= 0 && value <= 2000000000 ? true :
		fail(reader, "--duration needs a number of milliseconds");
}

static bool take_number(struct reader *reader, int option, const char *text)
{
	struct command_line *line = reader->line;

	if (option == 'F' && (line->frequency = number(text, 1, 100000)) < 0)
		return fail(reader, "-F needs samples a second, 1 to 100000");
	if (option == 'c' && (line->period = number(text, 1, 1e15)) < 0)
		return fail(reader, "-c needs a number of events");
	if (option == 'd' && (line->duration_ms = number(text, 1000, 2e9)) < 0)
		return fail(reader, "-d needs seconds");
	return line->frequency == 0 || line->period == 0 ? true :
		fail(reader, "-F and -c exclude each other");
}

static bool take(struct reader *reader, int option, const char *text)
{
	struct command_line *line = reader->line;

	switch (option) {
	case 'p': return pids(reader, text);
	case 'a': return target(reader, "any", "", 0);
	case 'n': return target(reader, "cmd:", text, strlen(text));
	case 'u': return user(reader, text);
	case 'G': return target(reader, *text == '/' ? "cgroup:" : "cgroup:/", text, strlen(text));
	case 'o': return output(reader, text);
	case 'g': return stacks(reader, text);
	case 'D': return milliseconds(reader, text);
	case 'e': return events(reader, text);
	case 'T': line->traced = true; line->socket = text; return true;
	case 'S': line->data_source = text; return true;
	case 'k': line->kernel = true; return true;
	case 'B': line->debuginfod = true; return true;
	case 'I': line->no_inline = true; return true;
	case 'q': line->quiet = true; return true;
	case 'P': line->print = true; return true;
	case 'C': line->check = true; return true;
	case 'h': line->help = true; return true;
	case 'V': line->version = true; return true;
	default: return take_number(reader, option, text);
	}
}

/* Either one file, or options and what they are about. */
static bool judge(struct reader *reader, char **rest, bool dashes, bool shaped)
{
	struct command_line *line = reader->line;

	if (line->help || line->version)
		return true;
	if (line->traced && (shaped || rest[0] || line->target_count > 0 || line->duration_ms >= 0))
		return fail(reader, "--traced is told by consumers what to sample: no other "
			    "options go with it");
	if (line->traced)
		return true;
	if (line->data_source)
		return fail(reader, "--data-source goes with --traced");
	if (dashes && rest[0])
		line->command = rest;
	else if (rest[0] && !rest[1] && line->target_count == 0 && !shaped)
		line->config = rest[0];
	else if (rest[0])
		return fail(reader, "%s: a command to run stands behind --", rest[0]);
	for (size_t i = 0; i < line->output_count && line->event_count > 1; i++)
		if (strcmp(line->outputs[i], "-") == 0)
			return fail(reader, "-o - is of one event: name files for several");
	if (line->command && (line->print || line->check))
		return fail(reader, "--print and --check run no command, and a configuration names "
			    "processes that there are: -p, -n, -u, --cgroup or -a");
	if (line->config || line->command || line->target_count > 0)
		return line->command && line->target_count > 0 ?
			fail(reader, "either a command is run, or processes are named") : true;
	return fail(reader, "who is to be watched? -p PID, -a (all), or -- COMMAND; "
		    "or a configuration file is needed");
}

bool command_line_read(int argc, char **argv, struct command_line *ret, char *error, size_t size)
{
	struct reader reader = { ret, error, size };
	bool shaped = false;
	int option;

	*ret = (struct command_line){ .duration_ms = -1 };
	while ((option = getopt_long(argc, argv, "+p:an:u:F:c:e:g:kd:o:q", options, NULL)) != -1) {
		if (option == '?')
			return fail(&reader, "see the options");
		if (optarg && !json_can_hold(optarg))
			return fail(&reader, "\"%s\" is not UTF-8, which a name has to be", optarg);
		if (!take(&reader, option, optarg))
			return false;
		shaped = shaped || strchr("FcegkBoq", option);
	}
	return judge(&reader, argv + optind, strcmp(argv[optind - 1], "--") == 0, shaped);
}

void command_line_free(struct command_line *line)
{
	for (size_t i = 0; i < line->target_count; i++)
		free(line->made[i]);
	for (size_t i = 0; i < line->event_count; i++)
		free(line->events[i]);
	line->target_count = line->event_count = 0;
}

/* ------------------------------------------------------------------------------------ as JSON */

/* The name of one of several sources, which files have in theirs, too. */
static const char *source_name(const struct command_line *line, size_t index, char *buf,
			       size_t size)
{
	char *at = buf;

	if (line->event_count < 2)
		return "stacks";
	(void)snprintf(buf, size, "%zu-%.50s", index + 1, line->events[index]);
	for (; *at != '\0'; at++)
		if (strchr(" /\\*?[]{}:,='\"", *at))
			*at = '_';
	return buf;
}

static void put_source(yajl_gen gen, const struct command_line *line, size_t index, pid_t pid)
{
	char own[32], name[80];

	(void)yajl_gen_map_open(gen);
	json_pair(gen, "name", source_name(line, index, name, sizeof(name)));
	json_pair(gen, "event", line->event_count ? line->events[index] : "cpu-clock");
	if (line->period)
		json_number(gen, "period", line->period);
	else
		json_number(gen, "frequency", line->frequency ? line->frequency : FREQUENCY);
	json_list(gen, "targets");
	for (size_t i = 0; i < line->target_count; i++)
		json_text(gen, line->targets[i]);
	(void)snprintf(own, sizeof(own), "pid:%d", (int)pid);
	if (line->command)
		json_text(gen, own);
	(void)yajl_gen_array_close(gen);
	json_pair(gen, "stacks", line->stacks ? line->stacks : "dwarf");
	if (line->kernel)
		json_flag(gen, "kernel", true);
	json_number(gen, "read_ms", READ_MS);
	(void)yajl_gen_map_close(gen);
}

static void put_output(yajl_gen gen, const char *format, const char *path, const char *source)
{
	(void)yajl_gen_map_open(gen);
	json_pair(gen, "format", format);
	json_pair(gen, "path", strcmp(path, "-") == 0 ? "/dev/stdout" : path);
	if (source)
		json_pair(gen, "source", source);
	(void)yajl_gen_map_close(gen);
}

/* Standard output is that of the command, or an output. */
static bool is_stdout_taken(const struct command_line *line)
{
	bool taken = line->command;

	for (size_t i = 0; i < line->output_count; i++)
		taken = taken || strcmp(line->outputs[i], "-") == 0;
	return taken;
}

/* Of several events each has files of its own: flame.svg becomes flame.1-cycles.svg. */
static void put_outputs(yajl_gen gen, const struct command_line *line, size_t index)
{
	char name[80], path[4096];
	const char *source = line->event_count < 2 ? NULL :
		source_name(line, index, name, sizeof(name));

	for (size_t i = 0; i < line->output_count; i++) {
		const char *asked = line->outputs[i];
		const size_t stem = strlen(asked) - strlen(suffix_of(asked));

		(void)snprintf(path, sizeof(path), "%.*s.%s%s", (int)stem, asked,
			       source ? source : "", suffix_of(asked));
		put_output(gen, format_of(asked), source && strcmp(asked, "-") != 0 ? path : asked,
			   source);
	}
	if (!line->quiet)
		put_output(gen, "top", is_stdout_taken(line) ? "/dev/stderr" : "-", source);
}

char *command_line_json(const struct command_line *line, pid_t pid)
{
	yajl_gen gen = yajl_gen_alloc(NULL);

	if (!gen)
		return NULL;
	(void)yajl_gen_config(gen, yajl_gen_beautify, 1);
	(void)yajl_gen_map_open(gen);
	json_list(gen, "sources");
	for (size_t i = 0; i == 0 || i < line->event_count; i++)
		put_source(gen, line, i, pid);
	(void)yajl_gen_array_close(gen);
	json_list(gen, "outputs");
	for (size_t i = 0; i == 0 || i < line->event_count; i++)
		put_outputs(gen, line, i);
	(void)yajl_gen_array_close(gen);
	if (line->duration_ms > 0)
		json_number(gen, "duration_ms", line->duration_ms);
	if (line->debuginfod)
		json_flag(gen, "debuginfod", true);
	if (line->no_inline)
		json_flag(gen, "inlined", false);
	(void)yajl_gen_map_close(gen);
	return json_end(gen);
}
