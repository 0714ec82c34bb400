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

/* Two events of this thread: what the source writes goes into the target's ring. */
struct redirection {
	struct sampler target;
	int source;
};

/* A sampler of page faults each of which wakes the reader. */
struct perf_event_attr attr_waking(void);
struct sampler must_sampler(const struct perf_event_attr *attr, pid_t pid, int cpu, size_t pages);
struct sampler ask_sampler(const struct perf_event_attr *with,
			   const struct perf_event_attr *without, pid_t pid, int cpu, size_t pages,
			   const char *what);
/* The next unread record of a type (0: any), or false. Broken when the ring does not parse. */
bool find_record(struct sampler *sampler, uint32_t type, struct pm_record *ret);
/* How many unread samples are of that thread (0: drop all). Everything unread is dropped. */
int count_samples(struct sampler *sampler, pid_t tid);
/* Broken unless that many page faults, sampled by `fd`, are as many samples in a ring. */
void expect_samples(int fd, struct pm_ring *ring, unsigned int faults, const char *what);
/* The same where it is a condition of the question: cannot tell unless they are. */
void must_samples(int fd, struct pm_ring *ring, unsigned int faults, const char *what);
/* How many samples of a worker (NULL: this thread) arrive while it causes page faults. */
int samples_of_faults(struct sampler *sampler, struct worker *worker, unsigned int faults);
/* Open and redirect such a pair of one attr. */
struct redirection must_redirect(const struct perf_event_attr *attr);
/* Open and redirect a pair of samplers of page faults, known to work. */
struct redirection must_redirect_faults(void);
/* Let an event signal a thread: ask_for_signals(), which the test needs. */
void must_get_signals(int fd, int number, pid_t tid);
/* A thread that waits in poll(2), at most so many ms: waiter_start(), which the test needs. */
void must_wait(struct waiter *waiter, int fd, int time_out_ms);
/* Broken unless a waiter still sleeps when another one, woken by a later sample, has run. */
void expect_asleep(struct waiter *waiter, const char *when);
/* Broken unless these revents tell POLLHUP; nothing at all is a "no": older kernels do not tell. */
void expect_hang_up(int revents, const char *when);
/* An attr for this thread of a trace unit, whose name goes into `name`; absent without one. */
struct perf_event_attr must_trace(char name[64]);
/* Map an AUX area behind a watch's ring; refused, while the ring is not, it is a "no". */
void ask_aux(struct sampler *sampler, size_t pages, int prot);

#endif
