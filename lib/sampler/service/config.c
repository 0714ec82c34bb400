/* SPDX-License-Identifier: MIT */
/* Reads the configuration: tables of keys; each has its bounds and its default in one row. */
#define _GNU_SOURCE
#include "config.h"
#include "events.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

#define TEXT_MAX (1u << 20)

enum kind { NUMBER, BOOLEAN, TEXT, TEXTS, CHOICE };

struct key {
	const char *name;
	enum kind kind;
	size_t at;			/* offset of the value; of TEXTS: an array of char * */
	int64_t least, most, otherwise;	/* of NUMBER and BOOLEAN; of TEXTS: most of them */
	size_t count_at;		/* of TEXTS */
	const char *const *choices;	/* of CHOICE: ends with NULL; of BOOLEAN as texts: two */
};

struct reader {
	char *error;
	size_t size;
};

static int fail(struct reader *reader, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(reader->error, reader->size, format, list);
	va_end(list);
	return -EINVAL;
}

static const char *const stack_names[] = { "none", "frames", "dwarf", NULL };
static const char *const format_names[] = { "folded", "pprof", "perfetto", "svg", "top", NULL };
static const char *const stop_names[] = { "ordered", "abrupt", NULL };
static const char *const clock_names[] = { "monotonic", "monotonic_raw", "boottime", "realtime",
					   NULL };

#define AT(field) offsetof(struct source_config, field)
static const struct key source_keys[] = {
	{ "name", TEXT, AT(name), 0, 0, 0, 0, NULL },
	{ "event", TEXT, AT(event), 0, 0, 0, 0, NULL },
	{ "cpus", TEXT, AT(cpus), 0, 0, 0, 0, NULL },
	{ "filter", TEXT, AT(filter), 0, 0, 0, 0, NULL },
	{ "followers", TEXTS, AT(followers), 0, FOLLOWERS, 0, AT(follower_count), NULL },
	{ "targets", TEXTS, AT(targets), 0, TARGETS, 0, AT(target_count), NULL },
	{ "period", NUMBER, AT(period), 1, INT64_MAX, 0, 0, NULL },
	{ "frequency", NUMBER, AT(frequency), 1, 100000, 0, 0, NULL },
	{ "poll_ms", NUMBER, AT(poll_ms), 1, 3600000, 0, 0, NULL },
	{ "shard", NUMBER, AT(shard), 0, UINT32_MAX, 0, 0, NULL },
	{ "shards", NUMBER, AT(shards), 1, UINT32_MAX, 0, 0, NULL },
	{ "first", NUMBER, AT(first), 1, 65536, 0, 0, NULL },
	{ "ring_pages", NUMBER, AT(ring_pages), 1, 65536, 0, 0, NULL },
	{ "stack_bytes", NUMBER, AT(stack_bytes), 256, 65528, 16384, 0, NULL },
	{ "read_ms", NUMBER, AT(read_ms), 1, 60000, 0, 0, NULL },
	{ "turn_records", NUMBER, AT(turn_records), 1, 10000000, 20000, 0, NULL },
	{ "turn_us", NUMBER, AT(turn_us), 100, 10000000, 50000, 0, NULL },
	{ "start_ms", NUMBER, AT(start_ms), 0, INT32_MAX, 0, 0, NULL },
	{ "stop_ms", NUMBER, AT(stop_ms), 1, INT32_MAX, 0, 0, NULL },
	{ "stacks", CHOICE, AT(stacks), 0, 0, STACKS_NONE, 0, stack_names },
	{ "stack_targets", TEXTS, AT(stack_targets), 0, TARGETS, 0, AT(stack_target_count), NULL },
	{ "stack_programs", NUMBER, AT(stack_programs), 0, 1024, 0, 0, NULL },
	{ "clock", CHOICE, AT(clock), 0, 0, SOURCE_MONOTONIC, 0, clock_names },
	{ "kernel", BOOLEAN, AT(kernel), 0, 0, 0, 0, NULL },
	{ "children", BOOLEAN, AT(children), 0, 0, 1, 0, NULL },
	{ "stop", BOOLEAN, AT(abrupt), 0, 0, 0, 0, stop_names },
	{ NULL, NUMBER, 0, 0, 0, 0, 0, NULL },
};
#undef AT
#define AT(field) offsetof(struct output_config, field)
static const struct key output_keys[] = {
	{ "path", TEXT, AT(path), 0, 0, 0, 0, NULL },
	{ "source", TEXT, AT(source), 0, 0, 0, 0, NULL },
	{ "format", CHOICE, AT(format), 0, 0, -1, 0, format_names },
	{ NULL, NUMBER, 0, 0, 0, 0, 0, NULL },
};
#undef AT
#define AT(field) offsetof(struct config, field)
static const struct key keys[] = {
	{ "socket", TEXT, AT(socket), 0, 0, 0, 0, NULL },
	{ "report", TEXT, AT(report), 0, 0, 0, 0, NULL },
	{ "broker", TEXT, AT(broker), 0, 0, 0, 0, NULL },
	{ "duration_ms", NUMBER, AT(duration_ms), 0, INT32_MAX, 0, 0, NULL },
	{ "keep_ms", NUMBER, AT(keep_ms), 0, 86400000, 10000, 0, NULL },
	{ "rotate_ms", NUMBER, AT(rotate_ms), 0, INT64_MAX / 1000000, 0, 0, NULL },
	{ "former", NUMBER, AT(former), 1, 1000, 5, 0, NULL },
	{ "signal", NUMBER, AT(signal), 34, 64, 0, 0, NULL },
	{ "timeout_ms", NUMBER, AT(timeout_ms), 1, 600000, 1000, 0, NULL },
	{ "processes", NUMBER, AT(processes), 1, 1000000, 65536, 0, NULL },
	{ "unwinders", NUMBER, AT(unwinders), 1, 65536, 256, 0, NULL },
	{ "queue_records", NUMBER, AT(queue_records), 1, 10000000, 4096, 0, NULL },
	{ "queue_bytes", NUMBER, AT(queue_bytes), 1024, INT64_MAX, 16 << 20, 0, NULL },
	{ "memory_bytes", NUMBER, AT(memory_bytes), 1 << 20, INT64_MAX, 0, 0, NULL },
	{ "cpu_percent", NUMBER, AT(cpu_percent), 1, 100000, 0, 0, NULL },
	{ "window_ms", NUMBER, AT(window_ms), 10, 600000, 1000, 0, NULL },
	{ "debuginfod", BOOLEAN, AT(debuginfod), 0, 0, 0, 0, NULL },
	{ "inlined", BOOLEAN, AT(inlined), 0, 0, 1, 0, NULL },
	{ NULL, NUMBER, 0, 0, 0, 0, 0, NULL },
};
#undef AT

static int choose(const struct key *key, const char *text)
{
	for (int i = 0; key->choices[i]; i++) {
		if (strcmp(key->choices[i], text) == 0)
			return i;
	}
	return -1;
}

static int put_texts(struct reader *reader, const struct key *key, yajl_val value, char *to)
{
	char **texts = (char **)(void *)(to + key->at);
	size_t *count = (size_t *)(void *)(to + key->count_at);

	if (!YAJL_IS_ARRAY(value) || value->u.array.len > (size_t)key->most)
		return fail(reader, "\"%s\" must be a list of up to %d texts", key->name,
			    (int)key->most);
	if (*count != 0)
		return fail(reader, "\"%s\" is there twice", key->name);
	for (size_t i = 0; i < value->u.array.len; i++) {
		if (!YAJL_IS_STRING(value->u.array.values[i]))
			return fail(reader, "\"%s\" must hold texts", key->name);
		texts[i] = strdup(value->u.array.values[i]->u.string);
		if (!texts[i])
			return -ENOMEM;
		(*count)++;
	}
	return 0;
}

static int put_text(struct reader *reader, const struct key *key, yajl_val value, char *to)
{
	char **text = (char **)(void *)(to + key->at);

	if (!YAJL_IS_STRING(value) || value->u.string[0] == '\0')
		return fail(reader, "\"%s\" must be a text that is not empty", key->name);
	free(*text);
	*text = strdup(value->u.string);
	return *text ? 0 : -ENOMEM;
}

static int put_choice(struct reader *reader, const struct key *key, yajl_val value, char *to)
{
	int choice = YAJL_IS_STRING(value) ? choose(key, YAJL_GET_STRING(value)) : -1;
	char known[160];
	size_t used = 0;

	if (choice < 0) {
		for (int i = 0; key->choices[i]; i++)
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s\"%s\"",
						 i ? " or " : "", key->choices[i]);
		return fail(reader, "\"%s\" must be %s", key->name, known);
	}
	if (key->kind == BOOLEAN)
		*(bool *)(void *)(to + key->at) = choice == 1;
	else
		*(int *)(void *)(to + key->at) = choice;
	return 0;
}

static int put(struct reader *reader, const struct key *key, yajl_val value, char *to)
{
	if (key->kind == TEXT)
		return put_text(reader, key, value, to);
	if (key->kind == TEXTS)
		return put_texts(reader, key, value, to);
	if (key->choices)
		return put_choice(reader, key, value, to);
	if (key->kind == BOOLEAN) {
		if (!YAJL_IS_TRUE(value) && !YAJL_IS_FALSE(value))
			return fail(reader, "\"%s\" must be true or false", key->name);
		*(bool *)(void *)(to + key->at) = YAJL_IS_TRUE(value);
		return 0;
	}
	if (!YAJL_IS_INTEGER(value) || YAJL_GET_INTEGER(value) < key->least ||
	    YAJL_GET_INTEGER(value) > key->most)
		return fail(reader, "\"%s\" must be a number from %lld to %lld", key->name,
			    (long long)key->least, (long long)key->most);
	*(int64_t *)(void *)(to + key->at) = YAJL_GET_INTEGER(value);
	return 0;
}

static void set_defaults(const struct key *key, char *to)
{
	for (; key->name; key++) {
		if (key->kind == NUMBER)
			*(int64_t *)(void *)(to + key->at) = key->otherwise;
		else if (key->kind == BOOLEAN)
			*(bool *)(void *)(to + key->at) = key->otherwise != 0;
		else if (key->kind == CHOICE)
			*(int *)(void *)(to + key->at) = (int)key->otherwise;
	}
}

static int unknown(struct reader *reader, const struct key *key, const char *name)
{
	char known[512] = "";
	size_t used = 0;

	for (; key->name && used < sizeof(known) - 40; key++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, " %s", key->name);
	return fail(reader, "unknown key \"%.60s\"; known are:%s", name, known);
}

/* The pairs of an object, but for those two lists that the top level has. */
static int take(struct reader *reader, yajl_val object, const struct key *table, void *to)
{
	int err = 0;

	if (!YAJL_IS_OBJECT(object))
		return fail(reader, "an object in braces is expected");
	set_defaults(table, to);
	for (size_t i = 0; i < object->u.object.len && err == 0; i++) {
		const char *name = object->u.object.keys[i];
		const struct key *key = table;

		if (table == keys && (strcmp(name, "sources") == 0 || strcmp(name, "outputs") == 0))
			continue;
		while (key->name && strcmp(key->name, name) != 0)
			key++;
		err = key->name ? put(reader, key, object->u.object.values[i], to) :
			unknown(reader, table, name);
	}
	return err;
}

/* The others of a group are followers, by the names that texts have for them. */
static int take_members(struct source_config *source, const struct events *events)
{
	if (events->leaders != 1 || events->count == 1)
		return 0;
	if (source->follower_count > 0 || events->count - 1 > FOLLOWERS)
		return -EINVAL;
	for (size_t i = 1; i < events->count; i++) {
		char name[64];

		(void)pm_event_name(&events->specs[i], name, sizeof(name));
		source->followers[i - 1] = strdup(events->listed[i].name[0] ?
						  events->listed[i].name : name);
		if (!source->followers[i - 1])
			return -ENOMEM;
		source->member_count = ++source->follower_count;
	}
	return 0;
}

/* What terms of the event say goes before the keys. What is wrong with it, its opening tells. */
static int take_terms(struct source_config *source)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct events events = { .count = 0 };
	const int err = events_read(source->event, &diag, &events);
	const struct pm_event_listed *listed = &events.listed[0];
	const struct pm_event_spec *spec = &events.specs[0];

	source->label = strdup(err == 0 && listed->name[0] ? listed->name : source->event);
	if (!source->label)
		return -ENOMEM;
	if (err < 0 || source->poll_ms)
		return 0;
	if (spec->period || spec->frequency) {
		source->period = (int64_t)spec->period;
		source->frequency = (int64_t)spec->frequency;
	}
	if (listed->stacks)
		source->stacks = listed->stacks == PM_LISTED_DWARF ? STACKS_DWARF :
			listed->stacks == PM_LISTED_FRAMES ? STACKS_FRAMES : STACKS_NONE;
	if (listed->stack_bytes)
		source->stack_bytes = listed->stack_bytes < 256 ? 256 : listed->stack_bytes;
	return take_members(source, &events);
}

static int check_source(struct reader *reader, struct source_config *source)
{
	int err = source->event ? take_terms(source) : 0;
	int ways = (source->period != 0) + (source->frequency != 0) + (source->poll_ms != 0);

	if (err == -EINVAL)
		return fail(reader, "event \"%s\": a group has up to %d that are counted with its "
			    "first, and no \"followers\" besides", source->event, FOLLOWERS);
	if (err < 0)
		return err;
	if (!source->name || !source->event)
		return fail(reader, "a source needs \"name\" and \"event\"");
	if (ways != 1)
		return fail(reader, "source \"%s\" needs one of \"frequency\", \"period\" and "
			    "\"poll_ms\"", source->name);
	if (source->poll_ms && (source->stacks != STACKS_NONE || source->kernel))
		return fail(reader, "source \"%s\": counters that are polled have no stacks",
			    source->name);
	if (source->shards && source->shard >= source->shards)
		return fail(reader, "source \"%s\": \"shard\" counts from 0 to shards - 1",
			    source->name);
	if (source->stop_ms && source->stop_ms <= source->start_ms)
		return fail(reader, "source \"%s\" stops before it starts", source->name);
	err = config_judge_targets(source, reader->error, reader->size);
	if (err == 0 && !source->poll_ms)
		err = config_size_rings(source, reader->error, reader->size);
	if (err < 0)
		return err;
	if (source->ring_pages & (source->ring_pages - 1))
		return fail(reader, "source \"%s\": \"ring_pages\" must be a power of two",
			    source->name);
	return 0;
}

/* Which source it is of, and whether that one has what the format is for. */
static int check_output(struct reader *reader, const struct config *config,
			struct output_config *output)
{
	if (!output->path || (int)output->format < 0)
		return fail(reader, "an output needs \"path\" and \"format\"");
	while (output->source && output->source_at < config->source_count &&
	       strcmp(config->sources[output->source_at].name, output->source) != 0)
		output->source_at++;
	if (output->source_at == config->source_count)
		return fail(reader, "output \"%s\": there is no source \"%s\"", output->path,
			    output->source);
	if (config->sources[output->source_at].poll_ms && output->format != FORMAT_PERFETTO)
		return fail(reader, "output \"%s\": counters that are polled go to \"perfetto\"",
			    output->path);
	return 0;
}

/* A list of objects of one kind. Returns how many, or -errno. */
static int take_list(struct reader *reader, yajl_val tree, const char *name,
		     const struct key *table, char *to, size_t stride, size_t most)
{
	const char *path[] = { name, NULL };
	yajl_val list = yajl_tree_get(tree, path, yajl_t_any);
	int err = 0;

	if (!list)
		return 0;
	if (!YAJL_IS_ARRAY(list) || list->u.array.len > most)
		return fail(reader, "\"%s\" must be a list of up to %zu objects", name, most);
	for (size_t i = 0; i < list->u.array.len && err == 0; i++)
		err = take(reader, list->u.array.values[i], table, to + i * stride);
	return err < 0 ? err : (int)list->u.array.len;
}

static int take_all(struct reader *reader, yajl_val tree, struct config *ret)
{
	int count = take(reader, tree, keys, ret);

	if (count == 0)
		count = take_list(reader, tree, "sources", source_keys, (char *)ret->sources,
				  sizeof(ret->sources[0]), SOURCES);
	if (count == 0)
		return fail(reader, "\"sources\" lists no source");
	for (int i = 0; i < count; i++) {
		int err = check_source(reader, &ret->sources[i]);

		if (err < 0)
			return err;
	}
	if (count < 0)
		return count;
	ret->source_count = (size_t)count;
	count = take_list(reader, tree, "outputs", output_keys, (char *)ret->outputs,
			  sizeof(ret->outputs[0]), OUTPUTS);
	for (int i = 0; i < count; i++) {
		int err = check_output(reader, ret, &ret->outputs[i]);

		if (err < 0)
			return err;
	}
	ret->output_count = count < 0 ? 0 : (size_t)count;
	return count < 0 ? count : 0;
}

int config_parse(const char *text, struct config *ret, char *error, size_t size)
{
	struct reader reader = { error, size };
	char why[400] = "";
	yajl_val tree;
	int err;

	memset(ret, 0, sizeof(*ret));
	tree = yajl_tree_parse(text, why, sizeof(why));
	if (!tree)
		return fail(&reader, "not JSON: %s", why[0] ? why : "nothing in it");
	err = take_all(&reader, tree, ret);
	yajl_tree_free(tree);
	if (err == -ENOMEM)
		(void)snprintf(error, size, "no memory");
	return err;
}

int config_read(const char *path, struct config *ret, char *error, size_t size)
{
	FILE *file = fopen(path, "re");
	char *text = file ? malloc(TEXT_MAX + 2) : NULL;
	size_t have;
	int err;

	memset(ret, 0, sizeof(*ret));
	if (!text) {
		err = -errno;
		(void)snprintf(error, size, "%s", strerror(errno));
		if (file)
			(void)fclose(file);
		return err;
	}
	have = fread(text, 1, TEXT_MAX + 1, file);
	text[have] = '\0';
	err = ferror(file) ? -EIO : have > TEXT_MAX ? -E2BIG : 0;
	(void)fclose(file);
	if (err < 0)
		(void)snprintf(error, size, err == -EIO ? "cannot be read" : "over 1 MiB");
	else
		err = config_parse(text, ret, error, size);
	free(text);
	return err;
}

void config_free(struct config *config)
{
	for (size_t i = 0; i < SOURCES; i++) {
		struct source_config *source = &config->sources[i];

		free(source->name);
		free(source->event);
		free(source->label);
		free(source->cpus);
		free(source->filter);
		for (size_t j = 0; j < FOLLOWERS; j++)
			free(source->followers[j]);
		for (size_t j = 0; j < TARGETS; j++) {
			free(source->targets[j]);
			free(source->stack_targets[j]);
		}
	}
	for (size_t i = 0; i < OUTPUTS; i++) {
		free(config->outputs[i].path);
		free(config->outputs[i].source);
	}
	free(config->socket);
	free(config->report);
	free(config->broker);
	memset(config, 0, sizeof(*config));
}
