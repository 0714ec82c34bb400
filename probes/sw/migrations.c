/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are moves between CPUs counted exactly? A task is off the CPU while it moves, and so are its
 * events: early kernels counted none.
 * Observed: this thread moves itself 20 times.
 * Linux "perf: Fix software migrate events" (v4.2)
 */
#include "probe.h"

PROBE(TITLE("migrations")
      SINCE("4.2")
      POINT(exact, "cpu-migrations counts 20 moves to another CPU as 20")
      NEEDS("cpu2"))

static int move_often(void)
{
	int cpu = move_to_nth_cpu(0);

	for (int i = 0; i < 20 && cpu >= 0; i++)
		cpu = move_to_nth_cpu((i + 1) % 2);
	return cpu < 0 ? cpu : 0;
}

static int open_running(uint64_t config)
{
	struct perf_event_attr attr = attr_software(config);

	attr.exclude_kernel = attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

TEST(exact)
{
	uint64_t before, count;
	int fd;

	require(REQUIRE_CPU2);
	fd = open_running(PERF_COUNT_SW_CPU_MIGRATIONS);
	ASSERT_LE(0, move_to_nth_cpu(0));
	before = must_count(fd);
	ASSERT_EQ(0, move_often());
	count = must_count(fd) - before;
	if (!count)
		say_no("20 moves are 0 counts");
	if (count != 20)
		say_broken("counted=%" PRIu64 " want=20", count);
}

PROBE_MAIN
