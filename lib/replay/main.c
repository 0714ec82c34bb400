/* SPDX-License-Identifier: MIT */
/*
 * replay: the calls of a recording (perfmodes-explain --record), made again on this kernel by
 * threads, children and CPUs of this machine. One verdict a call, in the words and in the format of
 * a probe: the launcher runs it as each persona, in guests and on devices.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "call.h"

static const char usage[] =
	"usage: replay [--describe] [RECORDING]\n"
	"Asks this kernel for what a program asked for (./run.sh explain --record), and tells\n"
	"what comes of each call. Without a name the recording is what PERFMODES_REPLAY names,\n"
	"or standard input.\n";

static struct asked calls[CALLS_MOST];

/* Of the launcher: standard input, since the path may be out of a persona's reach. */
static int open_recording(const char *name)
{
	const char *given = getenv("PERFMODES_REPLAY");
	int fd;

	if (name != NULL)
		return open(name, O_RDONLY | O_CLOEXEC);
	fd = given != NULL ? open(given, O_RDONLY | O_CLOEXEC) : -1;
	return fd >= 0 ? fd : STDIN_FILENO;
}

static const char *read_all(int fd, char **ret, size_t *ret_size)
{
	char *text = malloc(RECORDING_MOST);
	size_t used = 0;
	ssize_t got;

	if (text == NULL)
		return "no memory";
	while (used < RECORDING_MOST && (got = read(fd, text + used, RECORDING_MOST - used)) != 0) {
		if (got < 0 && errno != EINTR)
			return strerror(errno);
		used += got > 0 ? (size_t)got : 0;
	}
	*ret = text;
	*ret_size = used;
	return used == RECORDING_MOST ? "it is larger than 4 MiB" : NULL;
}

static void describe(const struct recording *recording)
{
	printf("id=replay.recorded\ntitle=calls of a recording, made again\n");
	for (size_t i = 0; i < recording->count; i++) {
		char name[100], words[300];

		asked_name(&recording->calls[i], i + 1, name, sizeof(name));
		asked_words(&recording->calls[i], words, sizeof(words));
		printf("point=%s %s\n", name, words);
	}
	printf("\n");
}

static const char *word_of(enum verdict verdict)
{
#define PM_VERDICT(name, number, word, ...) [number] = word,
	static const char *const words[] = {
#include "../perfmodes_verdicts.def"
	};

	return words[verdict];
}

/* Returns 1 where it is not ok. */
static int say(const char *name, size_t number, struct told *told)
{
	for (char *at = told->reason; *at != '\0'; at++)
		if (*at < ' ' || *at == '#' || *at == 0x7f)
			*at = ' ';
	if (told->verdict == V_YES) {
		printf("ok %zu replay.%s\n", number, name);
	} else if (told->verdict == V_BROKEN) {
		printf("#:perfmodes: observed=%s\nnot ok %zu replay.%s\n", told->reason, number,
		       name);
	} else {
		printf("ok %zu replay.%s # SKIP %s: %s\n", number, name, word_of(told->verdict),
		       told->reason);
	}
	(void)fflush(stdout);
	return told->verdict == V_BROKEN;
}

static int ask_all(const struct recording *recording)
{
	static struct pm_env env;
	static struct asking before;
	struct tasks tasks;
	struct call call = { .env = &env };
	int failed = 0, err;

	(void)pm_env_read(&env);
	call.room = (size_t)sysconf(_SC_PAGESIZE);
	call.raw = raw_new(call.room);
	err = tasks_start(&tasks);
	printf("TAP version 13\n1..%zu\n", recording->count);
	(void)fflush(stdout);
	if (err < 0 || call.raw == NULL) {
		printf("Bail out! no tasks to watch: %s\n", pm_errno_name(err));
		return 1;
	}
	for (size_t i = 0; i < recording->count; i++) {
		struct told told = { .verdict = V_UNKNOWN };
		char name[100];

		asked_name(&recording->calls[i], i + 1, name, sizeof(name));
		printf("#  RUN           replay.%s ...\n", name);
		if (call_find(&recording->calls[i], recording, &tasks, &call, &told))
			call_ask(&call, recording, &before, &told);
		failed |= say(name, i + 1, &told);
	}
	tasks_end(&tasks);
	return failed;
}

static int wrong(const char *what, const char *why)
{
	fprintf(stderr, "replay: %s: %s\n", what, why);
	return 2;
}

int main(int argc, char **argv)
{
	struct recording recording = { .calls = calls };
	const bool only_describe = argc > 1 && strcmp(argv[1], "--describe") == 0;
	const char *name = argc > 1 + only_describe ? argv[1 + only_describe] : NULL, *why;
	char *text = NULL;
	size_t size = 0;
	int fd;

	if (argc == 4 && strcmp(argv[1], "--work") == 0)
		return task_serve(atoi(argv[2]), atoi(argv[3]));
	if (argc > 2 + only_describe || (name != NULL && name[0] == '-')) {
		(void)fputs(usage, name != NULL && strcmp(name, "--help") == 0 ? stdout : stderr);
		return name != NULL && strcmp(name, "--help") == 0 ? 0 : 2;
	}
	fd = open_recording(name);
	if (fd < 0)
		return wrong(name, strerror(errno));
	why = read_all(fd, &text, &size);
	if (why == NULL)
		why = recording_read(text, size, &recording);
	if (why != NULL)
		return wrong(name != NULL ? name : "the recording", why);
	free(text);
	if (only_describe) {
		describe(&recording);
		return 0;
	}
	return ask_all(&recording);
}
