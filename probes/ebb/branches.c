/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: do event-based branches (EBB) arrive in the program's own handler?
 * Observed: the handler, in assembly, counts how often it runs; counter and control registers are
 * used from user mode.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#include "probe.h"
#include "ebb.h"
#include <sys/prctl.h>

PROBE(TITLE("event-based branches")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(scheduled, "after ENABLE read(2) gives 8 bytes: the EBB event is on its counter")
      POINT(prctl_enable, "PR_TASK_PERF_EVENTS_ENABLE schedules an EBB event as well")
      POINT(cycles, "cycles overflowing 10 times give 10 branches to the handler")
      POINT(back_to_back, "a thousand overflows 96 cycles apart branch one by one")
      POINT(no_handler, "with BESCR disabled an overflow does not branch, and MMCR0 shows it")
      POINT(frozen, "with MMCR0[FC] set the counter stands still; cleared again, it branches")
      FACT(value_grows, bool, "-", "the value that read(2) gives for a running EBB event grows"))

#include "ebb_handler.h"

TEST(scheduled)
{
	const int fd = must_lead();
	uint64_t before = 0, after = 0;
	ssize_t got;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	got = read(fd, &before, 8);
	if (got != 8)
		say_broken("read(2) gives %zd bytes, and nothing else has the counters", got);
	if (spr_read(SPR_PMC1) > 0xffffffff)
		say_broken("PMC1=%#lx", spr_read(SPR_PMC1));
	spr_write(SPR_PMC1, 0);
	spr_write(SPR_MMCR0, MMCR0_PMAE);
	ASSERT_EQ(8, read(fd, &before, 8));
	spin_ns(1000000);
	ASSERT_EQ(8, read(fd, &after, 8));
	disarm();
	fact_bool("value_grows", after > before);
}

TEST(prctl_enable)
{
	uint64_t value;
	int fd;

	fd = must_lead();
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_ENABLE));
	if (read(fd, &value, 8) != 8)
		say_broken("read(2) gives no value after PR_TASK_PERF_EVENTS_ENABLE");
}

TEST(cycles)
{
	unsigned long taken;

	must_schedule();
	arm(PERIOD);
	taken = take_branches(10);
	disarm();
	expect_branches(taken, 10);
}

/* The handler is about as long as the period: no branch may be lost, none taken for two. */
TEST(back_to_back)
{
	unsigned long taken;

	must_schedule();
	arm(96);
	taken = take_branches(1000);
	disarm();
	expect_branches(taken, 1000);
	if (ebb_state.overflows[0] != ebb_state.branches)
		say_broken("branches=%lu overflows found by the handler=%lu", ebb_state.branches,
			   ebb_state.overflows[0]);
}

TEST(no_handler)
{
	unsigned long mmcr0;

	must_schedule();
	arm(PERIOD);
	spr_write(SPR_BESCR, 0);
	must_overflow();
	spin_ns(1000000);
	mmcr0 = spr_read(SPR_MMCR0);
	disarm();
	if (ebb_state.branches)
		say_broken("branches=%lu with BESCR 0", ebb_state.branches);
	if (!(mmcr0 & MMCR0_PMAO) || (mmcr0 & MMCR0_PMAE))
		say_broken("MMCR0=%#lx after an overflow, want PMAO and no PMAE", mmcr0);
}

TEST(frozen)
{
	unsigned long before, after, taken;

	must_schedule();
	arm(PERIOD);
	taken = take_branches(2);
	spr_write(SPR_MMCR0, MMCR0_FC);
	before = spr_read(SPR_PMC1);
	spin_ns(5000000);
	after = spr_read(SPR_PMC1);
	if (before != after || ebb_state.branches > taken + 1)
		say_broken("PMC1=%#lx, then %#lx; branches=%lu, then %lu", before, after, taken,
			   ebb_state.branches);
	spr_write(SPR_MMCR0, MMCR0_PMAE);
	taken = take_branches(taken + 5);
	disarm();
	expect_branches(taken, 7);
}

PROBE_MAIN
