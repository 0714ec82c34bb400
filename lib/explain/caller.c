/* SPDX-License-Identifier: MIT */
/* Who called, where it is not what was started but what that has started: `timeout 3 tiptop`. */
#define _GNU_SOURCE
#include "shape.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOKS_FOR_CALLERS 64	/* at threads; one that calls again is not looked at twice */

struct callers callers;

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void add(const char *name)
{
	char *made = callers.names[callers.count];

	for (size_t i = 0; i < callers.count; i++)
		if (strcmp(callers.names[i], name) == 0)
			return;
	if (callers.count == CALLERS) {
		callers.more = true;
		return;
	}
	snprintf(made, sizeof(callers.names[0]), "%.60s", name);
	for (char *c = made; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	callers.count++;
}

/* As in `python3 /usr/bin/PROGRAM`, which env(1) makes of a script's first line. */
static bool is_interpreter(pid_t tid)
{
	char path[64], line[1024] = "";
	const char *end, *script;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", tid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	length = fread(line, 1, sizeof(line) - 1, file);
	(void)fclose(file);
	end = memchr(line, '\0', length);
	script = end != NULL ? base_of(end + 1) : "";
	return *script != '\0' && strcmp(script, base_of(callers.program)) == 0;
}

void caller_note(pid_t tid)
{
	static pid_t last;
	static unsigned int looks;
	char path[64], file[1024];
	ssize_t length;

	if (callers.program == NULL || tid == last || looks >= LOOKS_FOR_CALLERS)
		return;
	last = tid;
	looks++;
	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	length = readlink(path, file, sizeof(file) - 1);
	if (length <= 0)
		return;
	file[length] = '\0';
	add(is_interpreter(tid) ? base_of(callers.program) : base_of(file));
}

void caller_begins(const char *path)
{
	callers.started_others |= callers.program != NULL &&
		strcmp(base_of(path), base_of(callers.program)) != 0;
}

/* A link to the program, and a version behind its name, are the program. */
static bool is_program(const char *name)
{
	const char *program = base_of(callers.program);

	return strncmp(name, program, strlen(program)) == 0 ||
		strncmp(program, name, strlen(name)) == 0;
}

bool callers_are_others(void)
{
	for (size_t i = 0; i < callers.count; i++)
		if (is_program(callers.names[i]))
			return false;
	return callers.count > 0 && !callers.more && callers.started_others;
}
