/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: does each of the six counters cause event-based branches (EBB)? A program that profiles
 * itself picks the counter; 5 and 6 count one event each, instructions and cycles.
 * Observed: the handler, in assembly, notes which counter overflowed; the sixth of a group alone
 * shows that none is left out.
 * Power ISA 2.07, Book III, Performance Monitor Facility.
 */
#include "probe.h"
#include "ebb.h"
#include "ebb_handler.h"
#include <limits.h>

PROBE(TITLE("event-based branches of each counter")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(pmc1.delivered, "20 overflows of PMC1 (cycles) give 20 branches")
      POINT(pmc2.delivered, "20 overflows of PMC2 (cycles) give 20 branches")
      POINT(pmc3.delivered, "20 overflows of PMC3 (cycles) give 20 branches")
      POINT(pmc4.delivered, "20 overflows of PMC4 (cycles) give 20 branches")
      POINT(pmc5.delivered, "20 overflows of PMC5 (instructions) give 20 branches")
      POINT(pmc6.delivered, "20 overflows of PMC6 (cycles) give 20 branches")
      POINT(instructions.delivered, "20 overflows of PMC4 counting instructions give 20 branches")
      POINT(six, "each of six counters in one group branches")
      POINT(instructions_counted, "PMC4, read in user mode, counts the instructions of a loop")
      FACT(loop_instructions, int, "instructions", "what PMC4 counted for 2,000,000 of them"))

/* The event of one counter leads, scheduled. */
static void must_schedule_code(uint64_t code)
{
	struct perf_event_attr attr = attr_ebb(code), without = attr;
	uint64_t value;
	int fd;

	close(must_lead());
	without.config &= ~EBB;
	fd = ask_open(&attr, &without, 0, -1, "bit 63");
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (read(fd, &value, 8) != 8)
		say_unknown("the event is not scheduled: another has the counters");
}

FIXTURE(counter)
{
	int unused;
};

FIXTURE_VARIANT(counter)
{
	uint64_t code;
	int number;
};

FIXTURE_VARIANT_ADD(counter, pmc1) { .code = 0x1001e, .number = 1, };
FIXTURE_VARIANT_ADD(counter, pmc2) { .code = 0x2001e, .number = 2, };
FIXTURE_VARIANT_ADD(counter, pmc3) { .code = 0x3001e, .number = 3, };
FIXTURE_VARIANT_ADD(counter, pmc4) { .code = 0x4001e, .number = 4, };
FIXTURE_VARIANT_ADD(counter, pmc5) { .code = 0x500fa, .number = 5, };
FIXTURE_VARIANT_ADD(counter, pmc6) { .code = 0x600f4, .number = 6, };
FIXTURE_VARIANT_ADD(counter, instructions) { .code = 0x40002, .number = 4, };

FIXTURE_SETUP(counter)
{
}

FIXTURE_TEARDOWN(counter)
{
}

TEST_F(counter, delivered)
{
	unsigned long taken;

	must_schedule_code(variant->code);
	arm_counter(variant->number, PERIOD);
	taken = take_branches(20);
	disarm();
	expect_branches(taken, 20);
	if (ebb_state.overflows[variant->number - 1] != ebb_state.branches)
		say_broken("branches=%lu overflows found=%lu", ebb_state.branches,
			   ebb_state.overflows[variant->number - 1]);
}

/* How many counters have overflowed. */
static int counters_seen(void)
{
	int seen = 0;

	for (int i = 0; i < COUNTERS; i++)
		seen += ((volatile unsigned long *)ebb_state.overflows)[i] > 0;
	return seen;
}

TEST(six)
{
	static const uint64_t codes[] = { 0x2001e, 0x3001e, 0x4001e, 0x500fa, 0x600f4 };
	const uint64_t end = used_ns() + 150000000;
	const int leader = must_lead();
	uint64_t value;

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		struct perf_event_attr attr = attr_of(PERF_TYPE_RAW, codes[i] | EBB);

		attr.disabled = 0;
		must_open(&attr, 0, -1, leader, 0);
	}
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	if (read(leader, &value, 8) != 8)
		say_unknown("the group is not scheduled");
	arm(PERIOD);
	for (int i = 1; i < COUNTERS; i++)
		spr_write(SPR_PMC1 + i, OVERFLOWN - PERIOD - i * 0x1357);
	while (counters_seen() < COUNTERS && !traps_taken() && used_ns() < end)
		now_ns();
	disarm();
	expect_whole(counters_seen() == COUNTERS, "overflows=%lu,%lu,%lu,%lu,%lu,%lu want some of "
		     "each", ebb_state.overflows[0], ebb_state.overflows[1],
		     ebb_state.overflows[2], ebb_state.overflows[3], ebb_state.overflows[4],
		     ebb_state.overflows[5]);
}

/* Two instructions a round, in a loop that no compiler changes. */
static void run_loop(unsigned long rounds)
{
#if defined(__powerpc64__)
	__asm__ volatile("mtctr %0\n1:	nop\n	bdnz 1b\n" : : "r"(rounds) : "ctr");
#else
	(void)rounds;
#endif
}

static long count_loop(unsigned long rounds)
{
	long counted;

	spr_write(SPR_PMC1 + 3, 0);
	spr_write(SPR_MMCR0, 0);
	run_loop(rounds);
	counted = (long)spr_read(SPR_PMC1 + 3);
	spr_write(SPR_MMCR0, MMCR0_FC);
	return counted;
}

static long least(long left, long right)
{
	return left < right ? left : right;
}

/* The difference of two loops: what surrounds them is in both. Some PMUs count the kernel, too: the
 * quietest of five. */
TEST(instructions_counted)
{
	long few = LONG_MAX, many = LONG_MAX, loop;

	must_schedule_code(0x40002);
	for (int i = 0; i < 5; i++) {
		few = least(few, count_loop(50000));
		many = least(many, count_loop(1050000));
	}
	loop = many - few;
	fact_int("loop_instructions", loop);
	expect_whole(loop > 1980000 && loop < 2020000, "counted=%ld want=2000000", loop);
}

PROBE_MAIN
