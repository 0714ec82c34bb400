/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: do several counters of one group cause event-based branches (EBB) side by side, and does
 * the rest of the PMU stay as user mode set it?
 * Observed: the handler notes which counter overflowed; control registers and unused counters are
 * read back.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#include "probe.h"
#include "ebb.h"

PROBE(TITLE("event-based branches of several counters")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(group, "each of PMC1 to PMC4 in one group branches when it overflows")
      POINT(reload_of_one, "a counter that is never reloaded branches once; the others go on")
      POINT(mmcr2_kept, "MMCR2 holds what user mode wrote there after ten branches")
      POINT(unused_stand_still, "PMC5 and PMC6 stand still in a group without them"))

#include "ebb_handler.h"

/* PMC1 leads, PMC2 to PMC4 follow; all scheduled. */
static void must_schedule_four(void)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, 0);
	int leader = must_lead();
	uint64_t value;

	attr.disabled = 0;
	for (uint64_t counter = 2; counter <= 4; counter++) {
		attr.config = counter << 16 | 0x1e | EBB;
		must_open(&attr, 0, -1, leader, 0);
	}
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	if (read(leader, &value, 8) != 8)
		say_unknown("the group is not scheduled");
}

static bool all_four(unsigned long want)
{
	for (int i = 0; i < 4; i++)
		if (((volatile unsigned long *)ebb_state.overflows)[i] < want)
			return false;
	return true;
}

/* Periods of their own, so that they do not always overflow together. */
static void arm_four(void)
{
	arm(PERIOD);
	for (unsigned long i = 1; i < 4; i++)
		ebb_state.reload[i] = OVERFLOWN - PERIOD - i * 0x13579;
	spr_write(SPR_PMC1 + 1, ebb_state.reload[1]);
	spr_write(SPR_PMC1 + 2, ebb_state.reload[2]);
	spr_write(SPR_PMC1 + 3, ebb_state.reload[3]);
}

TEST(group)
{
	const uint64_t end = used_ns() + 150000000;

	must_schedule_four();
	arm_four();
	while (!all_four(5) && !traps_taken() && used_ns() < end)
		;
	disarm();
	expect_whole(all_four(5), "overflows=%lu,%lu,%lu,%lu want 5 of each",
		     ebb_state.overflows[0], ebb_state.overflows[1], ebb_state.overflows[2],
		     ebb_state.overflows[3]);
}

TEST(reload_of_one)
{
	unsigned long taken;

	must_schedule_four();
	arm_four();
	ebb_state.reload[1] = 0;	/* PMC2: half its range, seconds at any clock */
	taken = take_branches(10);
	disarm();
	expect_branches(taken, 10);
	if (ebb_state.overflows[1] > 1 || ebb_state.overflows[0] < 2)
		say_broken("overflows=%lu of PMC1, %lu of PMC2, which was to have one",
			   ebb_state.overflows[0], ebb_state.overflows[1]);
}

TEST(mmcr2_kept)
{
	/* PMC2 to PMC6, in user mode */
	const unsigned long freeze = (unsigned long)0x0020100804020000ull;
	unsigned long taken, kept;

	must_schedule();
	spr_write(SPR_MMCR2, freeze);
	arm(PERIOD);
	taken = take_branches(10);
	disarm();
	kept = spr_read(SPR_MMCR2);
	spr_write(SPR_MMCR2, 0);
	expect_branches(taken, 10);
	if (kept != freeze)
		say_broken("MMCR2=%#lx want=%#lx", kept, freeze);
}

TEST(unused_stand_still)
{
	unsigned long fifth, sixth, taken;

	must_schedule();
	spr_write(SPR_PMC1 + 4, 0);
	spr_write(SPR_PMC6, 0);
	arm(PERIOD);
	taken = take_branches(10);
	disarm();
	fifth = spr_read(SPR_PMC1 + 4);
	sixth = spr_read(SPR_PMC6);
	expect_branches(taken, 10);
	if (fifth || sixth)
		say_broken("PMC5=%#lx PMC6=%#lx want=0", fifth, sixth);
}

PROBE_MAIN
