/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, kept in a file without a name until all have come, then sorted: what a picture and
 * a table of functions are made from.
 */
#ifndef SERVICE_LINES_H
#define SERVICE_LINES_H

#include <stddef.h>
#include <stdint.h>

struct line {
	const char *frames;		/* "comm;outermost;...;innermost", not terminated */
	size_t length;
	uint64_t weight;
};

struct lines {
	char *text;
	struct line *list;		/* sorted by their frames; no two are equal */
	size_t count;
	uint64_t total;
};

/* A file without a name, in TMPDIR or /tmp. -errno. */
int lines_file(void);

/* Reads what pm_folded_*() wrote there, up to 1 GiB. -EFBIG, -ENOMEM, -errno of a reading. */
int lines_read(int fd, struct lines *ret);
void lines_free(struct lines *lines);

/* The length of the frame at `at`, which ends at `;` or at `end`. */
size_t frame_length(const char *at, const char *end);

#endif
