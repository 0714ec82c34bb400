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

/* Read a counter that has no read_format. */
uint64_t must_count(int fd);
/* Broken unless such a counter reads exactly that. */
void expect_count(int fd, uint64_t want);
/* Read an event or group with its read_format; broken when the bytes are not laid out by it. */
struct pm_counts must_counts(int fd, uint64_t read_format);
/* How much a counter gains while a worker (NULL: this thread) causes page faults. One fault is
 * caused before, so that the cost of getting there is not in the gain; a few too many are counted
 * again, as a page that was taken away is one fault more. */
uint64_t gain_of_faults(int fd, struct worker *worker, unsigned int faults);
/* Broken unless gain_of_faults() is exactly `want`, once in three times. */
void expect_gain(int fd, struct worker *worker, unsigned int faults, uint64_t want);
/* Enable an event, cause page faults in this thread, disable the event. One fault is caused before,
 * as gain_of_faults() does. */
void cause_faults_on(int fd, unsigned int faults);
/* The same with a counter. Returns how many it counted; it has no
 * read_format. */
uint64_t cause_enabled_faults(int fd, unsigned int faults);
/* Start a worker, which the test needs. */
void must_start_worker(struct worker *worker, enum worker_kind kind);

#endif
