/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a group of tasks be watched by its cgroup, as containers are?
 * Observed: the root cgroup, which holds every task, on one CPU, enabled and disabled. Nothing is
 * created. Page faults of other tasks on the CPU count, too, so the same few faults are repeated
 * until no other task has added any: then the count is exact.
 * Some kernels note the cgroup of the current task only when the CPU has another event running, or
 * at a switch between cgroups, which never comes where all tasks are in one. So another event runs
 * beside it, and an event alone is a question of its own.
 * Linux e5d1367f17ba ("perf: Add cgroup support") (v2.6.39)
 * Linux e19cd0b6fa59 ("perf/core: Always set cpuctx cgrp when enable cgroup event") (v5.18)
 */
#include "probe.h"
#include "cgroup.h"

PROBE(TITLE("events of a cgroup")
      SINCE("2.6.39")
      COMMIT("e5d1367f17ba")
      NEEDS("cgroup")
      POINT(counts, "an event of the root cgroup counts exactly the 16 faults of this task")
      POINT(alone, "an event of the root cgroup counts exactly with no other event on its CPU")
      POINT(stops, "an event of the root cgroup that is disabled counts none of 16 faults")
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

/* Other tasks of the CPU are members, too: their faults are more than 16, and never less. */
static void expect_counts(int fd)
{
	uint64_t gain = 0;

	for (int round = 0; round < 200 && gain != 16; round++) {
		gain = gain_of_faults(fd, NULL, 16);
		if (gain < 16)
			say_broken("round %d: counted=%" PRIu64 " want=16", round, gain);
	}
	if (gain != 16)
		say_unknown("other tasks fault on this CPU all the time: counted=%" PRIu64, gain);
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
