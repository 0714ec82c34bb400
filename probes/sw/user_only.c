/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does a task without privilege see of the scheduler? Migrations happen in the kernel, so an
 * event for user mode alone opens, works and always reads 0, which often surprises users of
 * unprivileged perf.
 * Observed: every software event that opens, over work that the scheduler sees; moves that
 * getcpu(2) has seen, too. Switches: strategy.user_only.
 * Linux e49a5bd38159 ("perf: Use hot regs with software sched switch/migrate events") (v2.6.34)
 */
#include "probe.h"
#include <stdio.h>

PROBE(TITLE("software events with exclude_kernel")
      SINCE("2.6.34")
      COMMIT("e49a5bd38159")
      POINT(migrations_zero, "cpu-migrations reads 0 over 20 moves to another CPU, while one "
	    "that may see the kernel counts them")
      NEEDS("cpu2")
      POINT(faults_count, "page-faults with exclude_kernel counts 16 faults exactly")
      SINCE("2.6.31")
      FACT(zero_set, string, "-", "ids of the software events with exclude_kernel that open and "
	    "read 0 after faults, sleeps and moves"))

static int open_running(uint64_t config)
{
	struct perf_event_attr attr = attr_software(config);
	int fd;

	fd = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

/* Move 20 times. Returns how often this thread then was on another CPU, or -errno. */
static int move_often(void)
{
	int cpu = move_to_nth_cpu(0), before = sched_getcpu(), moves = 0;

	for (int i = 0; i < 20 && cpu >= 0; i++) {
		cpu = move_to_nth_cpu((i + 1) % 2);
		moves += sched_getcpu() != before;
		before = sched_getcpu();
	}
	return cpu < 0 ? cpu : moves;
}

TEST(migrations_zero)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_MIGRATIONS);
	int fd = open_running(PERF_COUNT_SW_CPU_MIGRATIONS), all, moves;
	uint64_t count;

	require(REQUIRE_CPU2);
	attr.exclude_kernel = attr.disabled = 0;
	all = pm_open(&attr, 0, -1, -1, 0);
	moves = move_often();
	count = must_count(fd);
	if (moves < 20)
		say_unknown("only %d of 20 moves were seen by getcpu(2)", moves);
	if (all >= 0 && !must_count(all))
		say_unknown("the event with the kernel included counts no migration either");
	if (all >= 0 && must_count(all) < 20)
		say_broken("%" PRIu64 " of 20 migrations with the kernel included",
			   must_count(all));
	if (count)
		say_no("counted %" PRIu64 " of 20 migrations as user mode", count);
}

TEST(faults_count)
{
	char zero[256] = "";
	int fds[16];

	for (int i = 0; i < 16; i++) {
		struct perf_event_attr attr = attr_software(i);

		attr.disabled = 0;
		fds[i] = pm_open(&attr, 0, -1, -1, 0);
	}
	expect_gain(open_running(PERF_COUNT_SW_PAGE_FAULTS), NULL, 16, 16);
	cause_switches(10);
	if (count_cpus() > 1)
		ASSERT_LE(0, move_often());
	for (int i = 0; i < 16; i++)
		if (fds[i] >= 0 && !must_count(fds[i]))
			snprintf(zero + strlen(zero), sizeof(zero) - strlen(zero), "%s%d",
				 zero[0] ? "," : "", i);
	fact_str("zero_set", "%s", zero[0] ? zero : "none");
}

PROBE_MAIN
