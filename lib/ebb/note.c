/* SPDX-License-Identifier: MIT */
/* From a branch to the reader; general registers alone, as in branch.c. */
#include "strategy.h"

#ifdef PM_HAS_EBB

void pm_ebb_note(void *context, const struct pm_ebb_branch *branch)
{
	struct ebb_thread *thread = context;
	const uint64_t head = thread->head;
	struct ebb_sample *slot = &thread->slots[head & (SLOTS - 1)];

	if (head - __atomic_load_n(&thread->tail, __ATOMIC_ACQUIRE) >= SLOTS) {
		__atomic_store_n(&thread->dropped, thread->dropped + 1, __ATOMIC_RELAXED);
		return;
	}
	slot->timebase = branch->timebase;
	slot->ip = branch->sampled ? branch->sampled : branch->ip;
	slot->periods = branch->periods;
	slot->counter = branch->counter;
	__atomic_store_n(&thread->head, head + 1, __ATOMIC_RELEASE);
}

#endif
