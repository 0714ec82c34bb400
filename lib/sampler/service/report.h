/* SPDX-License-Identifier: MIT */
/* What happened, one JSON object a line: for programs. What matters of it also goes to stderr. */
#ifndef SERVICE_REPORT_H
#define SERVICE_REPORT_H

#include <stdint.h>
#include <stdio.h>

struct report {
	FILE *file;		/* NULL: none is asked for */
	uint64_t begin;		/* ns of CLOCK_MONOTONIC: times count from here */
	int error;
};

/* -errno of fopen(3). */
int report_open(struct report *report, const char *path);

/* The report so far becomes PATH.1, of so many. */
void report_rotate(struct report *report, const char *path, int64_t former);

/*
 * An object with "time" in ns, "event", and pairs of key and value up to a NULL key. A key that
 * begins with "#" has an int64_t, any other one a text.
 */
void report_event(struct report *report, const char *event, ...);

/* A process has come to a state that is news. */
void report_process(struct report *report, const char *source, int pid, const char *comm,
		    const char *state, int error);

/* Returns 0, or -errno when something could not be written. */
int report_close(struct report *report);

#endif
