/* SPDX-License-Identifier: MIT */
/*
 * What is done at an event-based branch. It runs in place of any instruction of the program, with
 * the general registers saved and perhaps no others: this file is compiled to use nothing else, and
 * calls nothing but the callback.
 */
#include "ebb.h"

#ifdef PM_HAS_EBB

#define LEAST 64			/* events: more than the way out of the handler counts */

__thread struct pm_ebb *pm_ebb_of_thread;

/* Sets what `overflown` gets for a counter, and how far it went beyond. */
#define LOOK(n) \
	if (ebb->used & 1u << (n)) { \
		uint64_t value_ = READ_SPR(SPR_PMC(n)) & 0xffffffff; \
		if (value_ & OVERFLOWN) { \
			overflown |= 1u << (n); \
			beyond[n] = value_ - OVERFLOWN; \
		} \
	}

/*
 * The next overflow is due a period after this one was, however late the handler came. One that is
 * due while the handler still returns waits for a period more: an emulator would forget it (seen in
 * QEMU 7.2 to 11.1).
 */
static inline uint64_t next(struct pm_ebb *ebb, unsigned int n, uint64_t beyond)
{
	const uint64_t period = ebb->periods[n], least = period < LEAST ? period : LEAST;
	uint64_t left = period - beyond % period;

	if (left < least)
		left += period;
	return OVERFLOWN - left;
}

#define RELOAD(n) \
	if (overflown & 1u << (n)) \
		WRITE_PMU(SPR_PMC(n), next(ebb, n, beyond[n]))

static inline void tell(struct pm_ebb *ebb, unsigned int n, unsigned int more, uint64_t beyond,
			const struct ebb_frame *frame)
{
	struct pm_ebb_branch branch;

	const uint64_t missed = beyond / ebb->periods[n];

	ebb->overflows[n]++;
	ebb->missed += missed;
	ebb->late += beyond;
	if (ebb->callback == NULL)
		return;
	branch.size = sizeof(branch);
	branch.counter = ebb->index_of[n];
	branch.more = more;
	branch.periods = 1 + missed;
	branch.ip = READ_SPR(SPR_EBBRR);
	branch.sampled = READ_SPR(SPR_SIAR);
	branch.late = beyond;
	branch.timebase = READ_SPR(268);
	branch.sp = *(const uint64_t *)((const char *)frame - PM_EBB_SAVED);
	branch.lr = frame->lr;
	if (ebb->stack_top != NULL)
		pm_ebb_call_on(ebb->stack_top, ebb->callback, ebb->context, &branch);
	else
		ebb->callback(ebb->context, &branch);
}

/* From rfebb on the next overflow branches. What overflows behind this is not forgotten. */
static inline void expect_next(void)
{
	WRITE_SPR(SPR_BESCRR, BESCR_PMEO);
	WRITE_SPR(SPR_BESCRS, BESCR_PME);
	/* To an emulator those are mere storage (seen in QEMU 7.2 to 11.1). */
	if ((READ_SPR(SPR_BESCR) & (BESCR_PMEO | BESCR_PME)) != BESCR_PME)
		WRITE_SPR(SPR_BESCR, (READ_SPR(SPR_BESCR) & ~BESCR_PMEO) | BESCR_PME);
}

/* The CPU has frozen the counters; an emulator does so at the first overflow alone. */
static inline uint64_t freeze(void)
{
	const uint64_t mmcr0 = READ_SPR(SPR_MMCR0);

	if (!(mmcr0 & MMCR0_FC))
		WRITE_PMU(SPR_MMCR0, mmcr0 | MMCR0_FC);
	return mmcr0;
}

uint64_t pm_ebb_dispatch(const struct ebb_frame *frame)
{
	struct pm_ebb *ebb = pm_ebb_of_thread;
	const uint64_t mmcr0 = freeze();
	uint64_t beyond[PM_EBB_COUNTERS + 1];
	unsigned int overflown = 0;

	if (ebb == NULL) {
		WRITE_SPR(SPR_BESCR, 0);
		return MMCR0_FC;
	}
	LOOK(1) LOOK(2) LOOK(3) LOOK(4) LOOK(5) LOOK(6)
	ebb->branches++;
	ebb->spurious += overflown == 0;
	for (unsigned int left = overflown; left != 0; left &= left - 1) {
		unsigned int n = (unsigned int)__builtin_ctz(left);

		tell(ebb, n, (unsigned int)__builtin_popcount(left) - 1, beyond[n], frame);
	}
	if (ebb->stopping) {
		ebb->running = false;
		WRITE_SPR(SPR_BESCR, 0);
		return MMCR0_FC;
	}
	RELOAD(1); RELOAD(2); RELOAD(3); RELOAD(4); RELOAD(5); RELOAD(6);
	expect_next();
	return (mmcr0 | MMCR0_PMAE) & ~(MMCR0_FC | MMCR0_PMAO);
}

#define FILL(n) \
	if (ebb->used & 1u << (n)) \
		WRITE_PMU(SPR_PMC(n), OVERFLOWN - ebb->periods[n])

void pm_ebb_arm(struct pm_ebb *ebb)
{
	WRITE_SPR(SPR_BESCR, 0);
	WRITE_PMU(SPR_MMCR0, MMCR0_FC);
	WRITE_SPR(SPR_EBBHR, ebb->flags & PM_EBB_VECTORS ? pm_ebb_entry_vectors : pm_ebb_entry);
	FILL(1); FILL(2); FILL(3); FILL(4); FILL(5); FILL(6);
	ebb->stopping = false;
	ebb->running = true;
	__asm__ volatile("isync" : : : "memory");
	WRITE_SPR(SPR_BESCR, BESCR_GE | BESCR_PME);
	WRITE_PMU(SPR_MMCR0, MMCR0_PMAE);
}

#endif
