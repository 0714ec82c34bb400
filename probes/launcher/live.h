/* SPDX-License-Identifier: GPL-2.0-only */
/* One line on a terminal that says what is run and how long the rest will take. */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>

struct live {
	bool on;
	bool known;		/* an earlier run says how long its jobs took */
	int all;		/* jobs, those that were done before among them */
	double began, shown;	/* seconds of the monotonic clock: the start, the last line */
	double total, done;	/* seconds that the jobs are expected to take; of those finished */
};

/* The seconds that the probe of this finished file took, or -1. */
double live_spent(const char *folder, const char *file);

/* Start the clock. The line is shown if wanted, and if stderr is a terminal that can erase it. */
void live_begin(struct live *live, bool wanted);

/* The seconds that are left, or -1 while nobody can tell. */
double live_left(const struct live *live, double elapsed);

/* Write the line anew, but not more often than a person reads. */
void live_show(struct live *live, int number, const char *persona, const char *id);

/* Erase it. */
void live_end(const struct live *live);

#endif
