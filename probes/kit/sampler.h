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


struct sampler must_sampler(const struct perf_event_attr *attr, pid_t pid, int cpu, size_t pages);
struct sampler ask_sampler(const struct perf_event_attr *with,
			   const struct perf_event_attr *without, pid_t pid, int cpu, size_t pages,
			   const char *what);
/* must_sampler() and ask_sampler(), with the event enabled. */
struct sampler must_run_sampler(const struct perf_event_attr *attr, pid_t pid, int cpu,
				size_t pages);
struct sampler ask_run_sampler(const struct perf_event_attr *with,
			       const struct perf_event_attr *without, pid_t pid, int cpu,
			       size_t pages, const char *what);
/* The next unread record of a type (0: any), or false. Broken when the ring does not parse. */
bool find_record(struct sampler *sampler, uint32_t type, struct pm_record *ret);
/* Walk all unread records of a ring and count those of a type; others are dropped too. */
int count_records(struct pm_ring *ring, uint32_t type);
/* How many unread samples are of that thread (0: drop all). Everything unread is dropped. */
int count_samples(struct sampler *sampler, pid_t tid);
/* Broken unless that many page faults, sampled by `fd`, are as many samples in a ring. */
void expect_samples(int fd, struct pm_ring *ring, unsigned int faults, const char *what);
/* The same where it is a condition of the question: cannot tell unless they are. */
void must_samples(int fd, struct pm_ring *ring, unsigned int faults, const char *what);
/* How many samples of a worker (NULL: this thread) arrive while it causes page faults. */
int samples_of_faults(struct sampler *sampler, struct worker *worker, unsigned int faults);

#endif
