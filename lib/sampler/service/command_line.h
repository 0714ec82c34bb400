/* SPDX-License-Identifier: MIT */
/* The command line: a configuration file, or options that one is made from. */
#ifndef SERVICE_COMMAND_LINE_H
#define SERVICE_COMMAND_LINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "config.h"

#define COMMAND_LINE_OUTPUTS 7		/* of each event; and the table of functions */

struct command_line {
	const char *config;		/* a file; NULL: options tell all */
	bool traced;			/* consumers of Perfetto's traced tell all */
	const char *socket, *data_source;	/* of it; NULL: as usual */
	char **command;			/* to be run and watched, ends with NULL; NULL: none */
	bool check, print, quiet, debuginfod, no_inline, help, version;
	long duration_ms;		/* -1: not told */
	/* What the options are about: texts of argv, NULL where nothing was told. */
	const char *targets[TARGETS];	/* as of a configuration: "pid:42" */
	size_t target_count;
	char *made[TARGETS];		/* those of them that are to be freed */
	const char *outputs[COMMAND_LINE_OUTPUTS];
	size_t output_count;
	char *events[SOURCES];		/* each with what is counted with it; none: cpu-clock */
	size_t event_count;
	const char *stacks;
	long frequency, period;		/* 0: not told */
	bool kernel;
};

/* Reads argv. False: a sentence is in `error`. command_line_free in either case. */
bool command_line_read(int argc, char **argv, struct command_line *ret, char *error, size_t size);
void command_line_free(struct command_line *line);

/*
 * The configuration that the options stand for, as JSON; `pid` is that of the command, or 0.
 * NULL: no memory. To be freed.
 */
char *command_line_json(const struct command_line *line, pid_t pid);

#endif
