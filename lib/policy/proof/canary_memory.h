/* SPDX-License-Identifier: MIT */
/* What a thread of the canary works with; not installed. */
#ifndef PM_CANARY_MEMORY_H
#define PM_CANARY_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define CANARY_STACK 131072	/* bytes */

/*
 * A thread's stack, and behind it pages of which each is a fault when it is touched first. Threads
 * of a session use it one after the other.
 */
struct canary_memory {
	char *stack;		/* NULL: there is none, nor are there pages */
	char *pages;
	size_t page_size;
	size_t used;		/* pages that have been touched */
	uint64_t faults;	/* that were caused, in all */
};

/* Unless there is some. It may fail: then `stack` stays NULL. */
void pm_canary_memory_make(struct canary_memory *memory);

void pm_canary_memory_free(struct canary_memory *memory);

/* So many page faults, without a read from disk; none where there are no pages. */
void pm_canary_fault(struct canary_memory *memory, size_t count);

#endif
