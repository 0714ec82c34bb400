/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A faulty kernel, played by a system call filter: calls that answer an error, calls that
 * answer success and do nothing, a perf_event_open that ignores or refuses a field of the attr or
 * accepts what must be refused, counters that read as zeros, files that are gone or hold garbage.
 * With it the project shows for every point that its probe can say something other than yes; a
 * check that cannot fail is no check.
 */
#ifndef FAULT_H
#define FAULT_H

#include <stdio.h>

/* Print the names of all faults, one a line. */
void fault_list(FILE *to);

/* By name; NULL when there is none of that name. */
const struct fault *fault_find(const char *name);

/*
 * Let this process and all it starts see a kernel with that fault. Where a filter cannot judge, a
 * the launcher answers: the listener is sent over `socket` to whoever calls fault_listener().
 * Returns 0 or -errno.
 */
int fault_inject(const struct fault *fault, int socket);

/* The listener from the other end of the socket, or -1 when this fault needs none. */
int fault_listener(const struct fault *fault, int socket);

/* Answer one call for the kernel (v5.5; some faults need v5.9). */
void fault_answer(const struct fault *fault, int listener);

#endif
