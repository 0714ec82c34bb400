/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words about sampling: events that run, one sample of a page fault, samples between two readings
 * of a clock.
 */
#ifndef SAMPLING_H
#define SAMPLING_H

#include <stdint.h>
#include <sys/types.h>

#include "../../lib/pm_sys.h"
#include "sampler.h"

/* must_sampler() and ask_sampler(), with the event enabled. */
struct sampler must_run_sampler(const struct perf_event_attr *attr, pid_t pid, int cpu,
				size_t pages);
struct sampler ask_run_sampler(const struct perf_event_attr *with,
			       const struct perf_event_attr *without, pid_t pid, int cpu,
			       size_t pages, const char *what);
/* The id of an event whose read_format is PERF_FORMAT_ID. */
uint64_t must_id(int fd);
/* An event that was seen to count: only then does an errno of its ioctls say something. */
int must_live(const struct perf_event_attr *attr);
/* Broken unless an ioctl answered with that errno (0: success); ENOTTY is a "no". */
void expect_answer(int answer, int want, const char *what);
/* A page of this thread's own that nobody has touched. */
char *fresh_page(void);
/* Map a page of this program's own file, the one at page offset 1. */
void *map_program(int flags, int prot);
/* Enable a watch of page faults, cause one, disable it: the first sample. */
struct pm_sample sample_fault(struct sampler *sampler);
/* Page faults of a running watch, each stamped between two readings of a clock. */
void stamp_faults(struct sampler *sampler, int clock, struct pm_clock_bracket *brackets, int count);

#endif
