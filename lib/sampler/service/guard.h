/* SPDX-License-Identifier: MIT */
/* Guardrails: what this process itself may cost, and how much work is shed to stay below. */
#ifndef SERVICE_GUARD_H
#define SERVICE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#define GUARD_LEVELS 6		/* at level n one of 2^n samples is unwound */
#define GUARD_PATIENCE 3	/* windows over the limit at the last level, then the end */
#define GUARD_LEAP 2		/* halvings of the rate in one window, at most */

enum guard_why { GUARD_NOTHING, GUARD_CPU, GUARD_MEMORY };

/* What was measured in one window. */
struct guard_reading {
	uint64_t cpu_ns, wall_ns;
	uint64_t memory;	/* bytes that are this process's alone, swapped ones included */
};

struct guard {
	uint64_t memory_limit, cpu_limit;	/* bytes, percent of one CPU; 0: none */
	unsigned int level;
	unsigned int rate, rate_most;	/* the rate is halved so often; it can be */
	unsigned int windows;	/* over the limit at the last level, or well below it */
	uint64_t counter;
};

/* Stacks are shed or not, the rate is lower or higher, or everything ends. */
enum guard_verdict { GUARD_SAME, GUARD_MORE, GUARD_LESS, GUARD_SLOWER, GUARD_FASTER, GUARD_STOP };

/* Percent of one CPU. */
uint64_t guard_cpu(const struct guard_reading *reading);

/*
 * One window is over. Of CPU time the rate is halved first, as far as it can be, and stacks are
 * shed below that; what is left of a limit gives stacks first. Memory is not freed by a lower rate.
 */
enum guard_verdict guard_judge(struct guard *guard, const struct guard_reading *reading,
			       enum guard_why *ret_why);

/* Whether the next sample may cost what a stack costs. */
bool guard_admits(struct guard *guard);

/* RssAnon and VmSwap of this process, in bytes; RSS on kernels without RssAnon (before v4.5). */
uint64_t guard_memory(void);

#endif
