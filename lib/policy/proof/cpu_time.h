/* SPDX-License-Identifier: MIT */
/* How much of the CPU time that is observed its samples stand for; not installed. */
#ifndef PM_CPU_TIME_H
#define PM_CPU_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct pm_session;

struct cpu_time {
	clockid_t clock;		/* of what is observed */
	bool known;			/* there is such a clock */
	size_t event;			/* the spec whose samples stand for time */
	uint64_t begin, used;		/* ns */
	uint64_t sampled;		/* ns, of samples that were delivered */
};

/*
 * An attach begins, and with it the account, for the first event that samples time of one process
 * or thread: samples that come before the attach is done are delivered, too.
 */
void pm_cpu_time_begin(struct pm_session *session);

/* ns used since then; 0 when there is no such event, or its thread has ended. */
uint64_t pm_cpu_time_used(const struct pm_session *session);

#endif
