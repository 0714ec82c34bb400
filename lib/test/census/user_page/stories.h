/* SPDX-License-Identifier: MIT */
/* What happens to a thread while it reads counters, a story a point. */
#ifndef STORIES_H
#define STORIES_H

#include <stddef.h>

#include "../verdict.h"

/* What a reading is made into, to see that a point notices. */
enum lie {
	LIE_NONE,
	LIE_AHEAD,		/* a value that the counter has not reached yet */
	LIE_BEHIND,		/* one from before */
	LIE_TIMES,		/* times that have not come yet */
	LIE_CALL,		/* read(2) where the page could be used */
	LIE_PAGE,		/* said to be of the page where read(2) has to be used */
	LIE_SLOW,		/* a reading that takes longer than read(2) */
};

#define LIES_EACH 4

extern enum lie lie_now;

struct outcome {
	enum kind kind;
	char text[400];
};

struct story {
	const char *point;
	void (*run)(struct outcome *outcome);
	enum lie lies[LIES_EACH];
};

extern const struct story stories[];
extern const size_t stories_count;

/* Whether a counter can be read in user space here at all; ABSENT or BLOCKED, and why. */
enum kind stories_possible(char *text, size_t size);

#endif
