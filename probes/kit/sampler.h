/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events with a ring, in tests: watching, redirecting, waiting, signals.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../lib/pm_sys.h"
#include "worker.h"

/* An event with its ring and the format of its records, opened together. */
struct sampler {
	int fd;
	struct pm_ring ring;
	struct pm_format format;
};


/* Open an event that the test needs, with its ring. */
struct sampler must_sampler(const struct perf_event_attr *attr, pid_t pid, int cpu, size_t pages);
/* Open the event that the test asks about, with its ring (see ask_open()). */
struct sampler ask_sampler(const struct perf_event_attr *with,
			   const struct perf_event_attr *without, pid_t pid, int cpu, size_t pages,
			   const char *what);
/* must_sampler(), and enable it. */
struct sampler must_run_sampler(const struct perf_event_attr *attr, pid_t pid, int cpu,
				size_t pages);
/* ask_sampler(), and enable it. */
struct sampler ask_run_sampler(const struct perf_event_attr *with,
			       const struct perf_event_attr *without, pid_t pid, int cpu,
			       size_t pages, const char *what);
/* The next unread record of a type (0: any), or false; broken when the ring does not parse. */
bool find_record(struct sampler *sampler, uint32_t type, struct pm_record *ret);
/* Count the unread records of a type. All unread records are dropped. */
int count_records(struct pm_ring *ring, uint32_t type);
/* Count the unread samples of a thread (0: just drop them). All unread records are dropped. */
int count_samples(struct sampler *sampler, pid_t tid);
/* Cause page faults while `fd` is enabled; broken unless it counts them all and the ring has a
 * sample of each. */
void expect_samples(int fd, struct pm_ring *ring, unsigned int faults, const char *what);
/* The same as a condition of the question: unknown unless they arrive. */
void must_samples(int fd, struct pm_ring *ring, unsigned int faults, const char *what);
/* How many samples of a worker (NULL: this thread) arrive while it causes page faults. Where they
 * are too many, it is asked again: a page that was taken away is one fault more. */
int samples_of_faults(struct sampler *sampler, struct worker *worker, unsigned int faults);

#endif
