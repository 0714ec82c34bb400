/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PLAN_H
#define PLAN_H

#define PLAN_ID_SIZE 101		/* of a probe's id, with the final zero */

/* What may run at the same time as a probe; those that are first here begin first. */
enum beside {
	NO_SECOND,			/* anything but another of these */
	ANYTHING,
	NOTHING,
};

/*
 * Takes a line of the plan apart: returns the persona, and fills in the id of the probe. A line
 * that is not "persona probe" is changed for printing, told on standard error, and gives NULL.
 */
const struct persona *plan_line(char *line, char id[PLAN_ID_SIZE]);

/*
 * What one line of a probe's declaration in the catalogue says about it. The end of a tracepoint
 * waits for all CPUs (RCU), and holds a lock of the kernel meanwhile (event_mutex): a second such
 * probe would only wait for the first.
 */
enum beside plan_beside(const char *line);

#endif
