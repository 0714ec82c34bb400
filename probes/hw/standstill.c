/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a hardware counter stand still when it should, and only then? A counter may freeze, go back
 * where it is read across CPUs, or count what others do. Observed: a sleep of the watched thread
 * beside a loop, and a thousand readings.
 */
#include "probe.h"
#include "core_pmu.h"
#include "instructions.h"

PROBE(TITLE("hardware counters that stand still")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(asleep, "instructions in user mode stand still while the thread sleeps")
      POINT(monotonic, "a running counter never goes back, over 1000 readings"))

TEST(asleep)
{
	int fd = open_hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t awake = cost_of(fd, 1), before = must_count(fd), count;

	poll(NULL, 0, 20);
	count = must_count(fd) - before;
	if (!awake)
		must_have_run();
	if (!awake || count > awake / 2)
		say_broken("asleep=%" PRIu64 " awake=%" PRIu64, count, awake);
}

TEST(monotonic)
{
	int fd = open_hardware(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t first = must_count(fd), last = first, next;

	for (int i = 0; i < 1000; i++, last = next) {
		next = must_count(fd);
		if (next < last)
			say_broken("reading %d: %" PRIu64 " after %" PRIu64, i, next, last);
	}
	if (last != first)
		return;
	must_have_run();
	say_broken("frozen at %" PRIu64, first);
}

PROBE_MAIN
