/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does a task without privilege see of the scheduler? Switches and migrations happen in the
 * kernel, so an event for user mode alone opens, works and reads 0 for ever: the best known trap of
 * unprivileged perf. Observed: every software event that opens, over work that the scheduler sees.
 * Linux e49a5bd38159 ("perf: Use hot regs with software sched switch/migrate events") (v2.6.34)
 */
#include "probe.h"
#include <stdio.h>

PROBE(TITLE("software events with exclude_kernel")
      SINCE("2.6.34")
      COMMIT("e49a5bd38159")
      POINT(switches_zero, "context-switches reads 0 over at least 5 switches")
      POINT(migrations_zero, "cpu-migrations reads 0 over 20 moves to another CPU")
      NEEDS("cpu2")
      POINT(faults_count, "page-faults counts its 16 beside them")
      SINCE("2.6.31")
      FACT(zero_set, string, "-", "ids of the events that open and read 0 after all this work"))

static int open_running(struct __test_metadata *_metadata, uint64_t config)
{
	struct perf_event_attr attr = attr_software(config);
	int fd;

	fd = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

static void sleep_often(void)
{
	for (int i = 0; i < 10; i++)
		poll(NULL, 0, 1);
}

static int move_often(void)
{
	int cpu = move_to_nth_cpu(0);

	for (int i = 0; i < 20 && cpu >= 0; i++)
		cpu = move_to_nth_cpu((i + 1) % 2);
	return cpu < 0 ? cpu : 0;
}

TEST(switches_zero)
{
	int fd = open_running(_metadata, PERF_COUNT_SW_CONTEXT_SWITCHES);
	uint64_t real = switches_so_far(), count;

	sleep_often();
	real = switches_so_far() - real;
	count = must_count(fd);
	if (real < 5)
		cannot_tell("only %" PRIu64 " switches", real);
	if (count)
		say_no("counted %" PRIu64 " of %" PRIu64 " switches as user mode", count, real);
}

TEST(migrations_zero)
{
	uint64_t count;
	int fd;

	require(REQUIRE_CPU2);
	fd = open_running(_metadata, PERF_COUNT_SW_CPU_MIGRATIONS);
	ASSERT_EQ(0, move_often());
	count = must_count(fd);
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
	hold_gain(open_running(_metadata, PERF_COUNT_SW_PAGE_FAULTS), NULL, 16, 16);
	sleep_often();
	if (count_cpus() > 1)
		ASSERT_EQ(0, move_often());
	for (int i = 0; i < 16; i++)
		if (fds[i] >= 0 && !must_count(fds[i]))
			snprintf(zero + strlen(zero), sizeof(zero) - strlen(zero), "%s%d",
				 zero[0] ? "," : "", i);
	fact_str("zero_set", "%s", zero[0] ? zero : "none");
}

PROBE_MAIN
