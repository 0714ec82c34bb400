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

/* Open what the test needs but does not ask about. Ends the test when it cannot be had. */
int must_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
	      unsigned long flags);
/* The plainest event opens, and is closed again: what is refused next is refused for its own sake.
 * Returns its attr, a disabled counter of user-mode page faults. */
struct perf_event_attr must_open_plain(void);
/* Open what the test asks about: on refusal, `without` decides between no, blocked and absent. */
int ask_open(const struct perf_event_attr *with, const struct perf_event_attr *without, pid_t pid,
	     int cpu, const char *what);
/* End the test unless `got` keeps the rule "refused with `want`" (probe_rule()). */
void expect_refused(int got, int want, enum verdict accepted, const char *what);
/* Broken unless an ioctl answered with that errno (0: success); ENOTTY is a "no". */
void expect_answer(int answer, int want, const char *what);
/* Map a ring the test needs. Using it later causes no page fault. */
void must_map(int fd, size_t pages, struct pm_ring *ring);
/* An ioctl the test needs. */
void must_ioctl(int fd, unsigned long request, unsigned long arg);
/* An ioctl the test asks about: refused while RESET works on the same event, it is a "no". */
void ask_ioctl(int fd, unsigned long request, unsigned long arg, const char *what);
/* A close that has happened: the number is free afterwards. */
void must_close(int fd);

#endif
