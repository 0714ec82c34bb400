/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words about counting: what an event reads, what it gains while the test or a worker causes page
 * faults, and the workers that do.
 */
#ifndef COUNTING_H
#define COUNTING_H

#include <stdint.h>

#include "../../lib/pm_sys.h"
#include "worker.h"

/* The value of a counter without read_format. */
uint64_t must_count(int fd);
/* Broken unless such a counter reads exactly that. */
void expect_count(int fd, uint64_t want);
/* All counters of an event or group; broken when they are not laid out by its read_format. */
struct pm_counts must_counts(int fd, uint64_t read_format);
/* How much a counter gains while a worker (NULL: this thread) causes page faults. They cause one
 * before, so that whatever the way there costs is not in the gain. */
uint64_t gain_of_faults(int fd, struct worker *worker, unsigned int faults);
/* Broken unless a counter gains exactly that much while a worker (or this thread) faults. */
void expect_gain(int fd, struct worker *worker, unsigned int faults, uint64_t want);
/* Cause page faults in this thread: cause_faults(), which the test needs. */
void must_fault(unsigned int faults);
/* Enable an event without read_format, cause page faults, disable it. Returns how many of them it
 * counted. */
uint64_t cause_enabled_faults(int fd, unsigned int faults);
/* A worker the test needs. */
void must_start_worker(struct worker *worker, enum worker_kind kind);
/* Let a worker (NULL: this thread) run until time_enabled shows: a scheduler clock may tick every
 * 10 ms only. Returns what the event then reads; its read_format has both times. */
struct pm_counts spin_until_timed(int fd, struct worker *worker);

#endif
