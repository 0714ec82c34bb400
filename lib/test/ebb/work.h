/* SPDX-License-Identifier: MIT */
/* A thread that takes branches; shared by the files of this folder. */
#ifndef WORK_H
#define WORK_H

#include "registers.h"

#define EVERY 6007			/* cycles between branches: no part of a pass's length */

struct work {
	struct pm_ebb *ebb;
	unsigned int flags;		/* enum pm_ebb_flags */
	uint64_t period;		/* 0: EVERY */
	bool spoils;			/* vectors are changed that were not kept */
	void *stack;
	size_t stack_size;
	/* by callbacks: */
	volatile uint64_t callbacks, quiet, reserved, periods, stop_at;
	volatile uint64_t by_counter[PM_EBB_COUNTERS];
	volatile uintptr_t stack_seen;
	/* of passes: */
	uint64_t passes, wrong, stalls;
	char what[200];			/* the first that was wrong */
	struct pm_ebb_stats stats;
};

void on_branch(void *context, const struct pm_ebb_branch *branch);
void on_branch_vectors(void *context, const struct pm_ebb_branch *branch);

/* Opens and starts one counter of cycles. 0 or -errno. */
int work_start(struct work *work, struct pm_diag *diag);

/*
 * Passes over all registers until so many branches came; -ETIME, -EILSEQ when one was changed. A
 * branch that an emulator forgot is a stall, and the counters are started again.
 */
int work_until(struct work *work, uint64_t branches);

/* Stops, takes the statistics, closes. */
void work_end(struct work *work);

/* Does nothing much until so many branches came. False after 20 s. */
bool work_wait(const struct work *work, uint64_t branches);

#endif
