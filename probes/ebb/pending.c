/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: is an overflow remembered that happens while event-based branches (EBB) are off, as
 * they are inside the handler? Without that a sampling program stops at the first overflow in its
 * handler.
 * Observed: counters are left to overflow within the handler, and while BESCR[GE] is clear.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#include "probe.h"
#include "ebb.h"
#include "ebb_handler.h"

PROBE(TITLE("event-based branches that wait")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(in_handler, "of ten overflows inside the handler each branches as soon as it returns")
      POINT(while_off, "an overflow while BESCR[GE] is clear branches when it is set")
      POINT(across_switch, "that holds where the task has slept meanwhile")
      POINT(kept_off, "while BESCR[PME] is clear no branch is taken, and MMCR0[PMAO] stays set"))

#define BURSTS 10

TEST(in_handler)
{
	unsigned long taken;

	must_schedule();
	arm(PERIOD);
	ebb_state.bursts = BURSTS;
	taken = take_branches(BURSTS + 3);
	disarm();
	expect_branches(taken, BURSTS + 3);
	expect_whole(ebb_state.same >= BURSTS, "%lu of %d branches came where the one before had "
		     "returned to", ebb_state.same, BURSTS);
}

/* Let PMC1 overflow with these bits of BESCR alone. */
static void overflow_with(unsigned long bescr)
{
	must_schedule();
	arm(PERIOD);
	spr_write(SPR_BESCR, bescr);
	must_overflow();
	spin_ns(1000000);
	if (branches_taken())
		say_broken("branches=%lu with BESCR=%#lx", branches_taken(), bescr);
}

/* Switched on again, the overflow of before branches, and so do later ones. */
static void expect_pending(void)
{
	unsigned long taken;

	spr_write(SPR_BESCR, spr_read(SPR_BESCR) | BESCR_ON);
	taken = take_branches(5);
	disarm();
	expect_branches(taken, 5);
}

TEST(while_off)
{
	overflow_with(BESCR_PME);
	expect_pending();
}

TEST(across_switch)
{
	overflow_with(BESCR_PME);
	cause_switches(3);
	expect_pending();
}

TEST(kept_off)
{
	unsigned long mmcr0;

	overflow_with(BESCR_GE);
	cause_switches(3);
	mmcr0 = spr_read(SPR_MMCR0);
	disarm();
	if (branches_taken())
		say_broken("branches=%lu without BESCR[PME]", branches_taken());
	if (!(mmcr0 & MMCR0_PMAO))
		say_broken("MMCR0=%#lx after an overflow and three switches, want PMAO", mmcr0);
}

PROBE_MAIN
