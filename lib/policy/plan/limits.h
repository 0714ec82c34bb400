/* SPDX-License-Identifier: MIT */
/* What there is, and what the limits leave; not installed. */
#ifndef PM_LIMITS_H
#define PM_LIMITS_H

#include "plan.h"

/* Threads and descriptors of this process, CPUs, memory that it may lock: fills plan->now. */
void pm_limit_look(struct pm_plan *plan);
size_t pm_thread_count(void);

/* Whether there are as many descriptors: 0, or -EMFILE and the reason. */
int pm_limit_descriptors(const struct pm_plan *plan, struct candidate *candidate);

/* Data pages of each ring that the limits on locked memory leave; 0: not even one. */
unsigned int pm_limit_pages(const struct pm_plan *plan, uint64_t rings);

/* The limits in words, "kernel.perf_event_mlock_kb=516 a CPU and RLIMIT_MEMLOCK=64 kB". */
void pm_limit_locked_text(char *buf, size_t size);

#endif
