/* SPDX-License-Identifier: MIT */
/* A table of functions: what is spent in each, and in what it calls. */
#define _GNU_SOURCE
#include "picture.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../policy/spec/spec.h"

#define ROWS 20
#define NAME_COLUMNS 96

struct function {
	const char *name;
	size_t length;
	uint64_t self, total;
	size_t last;			/* the last line that counted it, from 1 */
};

struct functions {
	void *tree;			/* of tsearch(3), by name */
	struct function **list;
	size_t count, room;
};

static int by_name(const void *one, const void *other)
{
	const struct function *a = one, *b = other;

	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return memcmp(a->name, b->name, a->length);
}

static struct function *function_of(struct functions *functions, const char *name, size_t length)
{
	struct function key = { .name = name, .length = length };
	struct function **found = tfind(&key, &functions->tree, by_name), *made;

	if (found)
		return *found;
	if (pm_make_room(&functions->list, functions->count, &functions->room, sizeof(made)) < 0)
		return NULL;
	made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	*made = key;
	if (!tsearch(made, &functions->tree, by_name)) {
		free(made);
		return NULL;
	}
	return functions->list[functions->count++] = made;
}

/* A function that calls itself counts once a stack. The first part of a line is no function. */
static int count(struct functions *functions, const struct line *line, size_t number)
{
	const char *at = line->frames, *end = at + line->length;
	size_t length = frame_length(at, end);
	struct function *function = NULL;

	for (at += length; at < end; at += length) {
		at++;
		length = frame_length(at, end);
		function = function_of(functions, at, length);
		if (!function)
			return -ENOMEM;
		if (function->last != number)
			function->total += line->weight;
		function->last = number;
	}
	if (function)
		function->self += line->weight;
	return 0;
}

static int by_self(const void *one, const void *other)
{
	const struct function *a = *(struct function *const *)one;
	const struct function *b = *(struct function *const *)other;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return a->total != b->total ? (a->total > b->total ? -1 : 1) : 0;
}

static void write_rows(FILE *file, const struct functions *functions, uint64_t total)
{
	(void)fputs("    self  with callees  function\n", file);
	for (size_t i = 0; i < functions->count && i < ROWS; i++) {
		const struct function *function = functions->list[i];

		if (function->self == 0)
			break;
		fprintf(file, "%6.1f %%      %6.1f %%  %.*s\n",
			100.0 * (double)function->self / (double)total,
			100.0 * (double)function->total / (double)total,
			function->length < NAME_COLUMNS ? (int)function->length : NAME_COLUMNS,
			function->name);
	}
}

FILE *picture_file(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	FILE *file = copy < 0 ? NULL : fdopen(copy, "w");

	if (copy >= 0 && !file)
		close(copy);
	return file;
}

int picture_close(FILE *file)
{
	bool failed = ferror(file) != 0;

	errno = 0;
	failed = fclose(file) != 0 || failed;
	return !failed ? 0 : errno ? -errno : -EIO;
}

const char *weight_text(const struct picture *picture, uint64_t weight, char *text, size_t size)
{
	char digits[32];
	int count = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)weight);
	size_t used = 0;

	if (picture->nanoseconds) {
		(void)snprintf(text, size, weight < 1000000000 ? "%.1f ms" : "%.2f s",
			       (double)weight / (weight < 1000000000 ? 1e6 : 1e9));
		return text;
	}
	for (int i = 0; i < count && used + 2 < size; i++) {
		if (i > 0 && (count - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

int top_functions_write(int fd, const struct lines *lines)
{
	struct functions functions = { 0 };
	FILE *file = picture_file(fd);
	int err = file ? 0 : -errno, closed;

	for (size_t i = 0; i < lines->count && err == 0; i++)
		err = count(&functions, &lines->list[i], i + 1);
	if (err == 0 && functions.count > 0 && lines->total > 0) {
		qsort(functions.list, functions.count, sizeof(functions.list[0]), by_self);
		write_rows(file, &functions, lines->total);
		unnamed_write(file, lines);
	}
	tdestroy(functions.tree, free);
	free(functions.list);
	closed = file ? picture_close(file) : 0;
	return err < 0 ? err : closed;
}
