/* SPDX-License-Identifier: MIT */
/*
 * Callbacks that change every register they may. Compiled as callbacks without PM_EBB_VECTORS have
 * to be: with general registers alone.
 */
#include "work.h"

static inline void count(struct work *work, const struct pm_ebb_branch *branch)
{
	work->callbacks++;
	work->periods += branch->periods;
	work->by_counter[branch->counter]++;
	work->quiet += branch->ip >= (uintptr_t)registers_quiet &&
		branch->ip < (uintptr_t)registers_quiet_end;
	work->reserved += branch->ip >= (uintptr_t)registers_reserved &&
		branch->ip < (uintptr_t)registers_reserved_end;
	work->stack_seen = (uintptr_t)__builtin_frame_address(0);
	if (work->stop_at != 0 && work->callbacks >= work->stop_at)
		pm_ebb_request_stop(work->ebb);
}

void on_branch(void *context, const struct pm_ebb_branch *branch)
{
	count(context, branch);
	registers_trash();
}

void on_branch_vectors(void *context, const struct pm_ebb_branch *branch)
{
	count(context, branch);
	registers_trash_vectors();
}
