/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a group of tasks be watched by its cgroup? Containers are. Observed: the root cgroup, which
 * holds every task, on one CPU, enabled and disabled. Nothing is created.
 * Some kernels note the current task's cgroup only when the CPU has another event running, or at a
 * switch between cgroups, which never comes where all tasks are in one. So another one runs beside
 * it, and an event without is a question of its own.
 * Linux e5d1367f17ba ("perf: Add cgroup support") (v2.6.39)
 * Linux e19cd0b6fa59 ("perf/core: Always set cpuctx cgrp when enable cgroup event") (v5.18)
 */
#include "probe.h"
#include "cgroup.h"

PROBE(TITLE("events of a cgroup")
      SINCE("2.6.39")
      COMMIT("e5d1367f17ba")
      NEEDS("cgroup")
      POINT(counts, "PERF_FLAG_PID_CGROUP with the root cgroup counts this task's 16 faults")
      POINT(alone, "it counts them with no other event of the test on its CPU, too")
      POINT(stops, "disabled, the event counts none of them")
      FACT(root, string, "-", "the cgroup file system that was used"))

static int must_scope(const char *root, int cpu)
{
	int fd = cgroup_open(root, cpu, -1);

	if (fd < 0)
		say_unknown("accepted once, then %s", pm_errno_name(fd));
	return fd;
}

static int open_root(bool with_other)
{
	const struct perf_event_attr beside = attr_counter(false);
	int cpu = move_to_nth_cpu(0);
	char root[96];

	must_cgroup_root(cpu, root, sizeof(root));
	fact_str("root", "%s", root);
	if (with_other)
		must_open(&beside, -1, cpu, -1, 0);
	return must_scope(root, cpu);
}

/* Other tasks of the CPU are members, too. */
static void expect_counts(int fd)
{
	const uint64_t gain = gain_of_faults(fd, NULL, 16);

	if (gain < 16)
		say_broken("counted=%" PRIu64 " want>=16", gain);
}

TEST(counts)
{
	expect_counts(open_root(true));
}

TEST(alone)
{
	expect_counts(open_root(false));
}

TEST(stops)
{
	int fd = open_root(true);

	if (gain_of_faults(fd, NULL, 1) < 1)
		say_unknown("it does not count");
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_gain(fd, NULL, 16, 0);
}

PROBE_MAIN
