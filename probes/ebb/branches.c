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

#if defined(__powerpc64__)

#include "ebb_handler.h"

TEST(scheduled)
{
	const int fd = must_schedule();
	uint64_t before = 0, after = 0;

	if (READ_SPR(771) > 0xffffffff)
		say_broken("PMC1=%#lx", READ_SPR(771));
	WRITE_SPR(771, 0);
	WRITE_SPR(779, MMCR0_PMAE);
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
	unsigned long mmcr0, counter;

	must_schedule();
	arm(PERIOD);
	WRITE_SPR(806, 0);
	spin_ns(20000000);
	mmcr0 = READ_SPR(779);
	counter = READ_SPR(771);
	disarm();
	if (ebb_state.branches)
		say_broken("branches=%lu with BESCR 0", ebb_state.branches);
	if (counter < OVERFLOWN)
		say_unknown("PMC1=%#lx after 20 ms: no overflow", counter);
	if (!(mmcr0 & MMCR0_PMAO) || (mmcr0 & MMCR0_PMAE))
		say_broken("MMCR0=%#lx after an overflow, want PMAO and no PMAE", mmcr0);
}

TEST(frozen)
{
	unsigned long before, after, taken;

	must_schedule();
	arm(PERIOD);
	taken = take_branches(2);
	WRITE_SPR(779, MMCR0_FC);
	before = READ_SPR(771);
	spin_ns(5000000);
	after = READ_SPR(771);
	if (before != after || ebb_state.branches > taken + 1)
		say_broken("PMC1=%#lx, then %#lx; branches=%lu, then %lu", before, after, taken,
			   ebb_state.branches);
	WRITE_SPR(779, MMCR0_PMAE);
	taken = take_branches(taken + 5);
	disarm();
	expect_branches(taken, 7);
}

#else

NOT_POWER(scheduled)
NOT_POWER(prctl_enable)
NOT_POWER(cycles)
NOT_POWER(back_to_back)
NOT_POWER(no_handler)
NOT_POWER(frozen)

#endif

PROBE_MAIN
