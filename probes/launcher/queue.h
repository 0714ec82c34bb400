/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A whole run: every probe of a result directory's plan that has no file there yet, several side
 * by side. Each worker is a process of its own, so that what a probe leaves behind is found by the
 * worker that ran it. A probe that declares ALONE(), and one that may disturb the machine or bring
 * it down and has leave to, is run with nothing beside it.
 */
#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>

#include "supervise.h"

struct queue_options {
	struct bounds bounds;
	const char *results;		/* DIR: plan and catalogue are read there */
	const char *programs;		/* identify and probes/ are there */
	const char *tee;		/* side channel for finished files, or NULL */
	int jobs;			/* side by side; 0: two for each CPU, as most wait */
	bool progress;			/* one line, on a terminal */
	const char *like;		/* DIR of an earlier run that took as long, or NULL */
};

/*
 * Prints how many files were finished. Returns 0 when all there is to do is done, 3 after a line on
 * stderr when the run cannot go on, 128 and the signal's number when interrupted.
 */
int queue_run(const struct queue_options *options);

#endif
