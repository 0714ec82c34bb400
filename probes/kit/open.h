/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a test needs (must_) and what it asks about (ask_): events, rings, ioctls, attributes of
 * PMUs and tracepoints. All of it ends the test with a verdict when it cannot be had.
 */
#ifndef OPEN_H
#define OPEN_H

#include <sys/types.h>

#include "../../lib/pm_sys.h"
#include "verdict.h"

/* Open an event that the test needs but does not ask about. */
int must_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
	      unsigned long flags);
/* The plainest event opens and is closed again, so that the next refusal has a reason of its own.
 * Returns its attr, a disabled counter of user-mode page faults. */
struct perf_event_attr must_open_plain(void);
/* Open the event that the test asks about. When it is refused, the twin `without` decides between
 * no, blocked and absent. What may crash a real-time kernel is a hazard there. */
int ask_open(const struct perf_event_attr *with, const struct perf_event_attr *without, pid_t pid,
	     int cpu, const char *what);
/* End the test unless `got` says that the call was refused with `want` (see judge_refused()). */
void expect_refused(int got, int want, enum verdict accepted, const char *what);
/* Broken unless an ioctl answered that errno (0: success); ENOTTY is a no. */
void expect_answer(int answer, int want, const char *what);
/* Map a ring that the test needs. Every page is touched, so using it later causes no page fault. */
void must_map(int fd, size_t pages, struct pm_ring *ring);
/* Do an ioctl that the test needs. */
void must_ioctl(int fd, unsigned long request, unsigned long arg);
/* Do the ioctl that the test asks about. It is a no when it is refused while RESET works. */
void ask_ioctl(int fd, unsigned long request, unsigned long arg, const char *what);
/* Close a descriptor, and see that its number is free. */
void must_close(int fd);

#endif
