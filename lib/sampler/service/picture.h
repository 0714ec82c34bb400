/* SPDX-License-Identifier: MIT */
/* What a person looks at: a flame graph, a table of functions. Both from sorted lines. */
#ifndef SERVICE_PICTURE_H
#define SERVICE_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

#include "lines.h"

struct picture {
	const char *event;
	bool nanoseconds;		/* weights are ns, and not events */
	uint64_t duration;		/* ns */
	uint64_t samples;
};

/* An SVG that needs nothing from elsewhere: frames are zoomed by a click and searched. -errno. */
int flame_graph_write(int fd, const struct lines *lines, const struct picture *picture);

/* The functions that the most of it is spent in, for a terminal. -errno. */
int top_functions_write(int fd, const struct lines *lines);

/* Sentences on what has no names and makes up 5 % or more of it, three at most. */
void unnamed_write(FILE *file, const struct lines *lines);

/* "1.25 s" or "1,250": a weight as a person reads it, into `text`, which it returns. */
const char *weight_text(const struct picture *picture, uint64_t weight, char *text, size_t size);

/* A stream to the descriptor, which stays open; NULL with errno. Its end: 0 or -errno. */
FILE *picture_file(int fd);
int picture_close(FILE *file);

#endif
