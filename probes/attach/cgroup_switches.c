/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are switches between cgroups counted? They cost more than others, and containers make many.
 * Observed: a child in a cgroup of its own, on the same CPU as this task, is woken 10 times.
 * Linux d0d1dd628527 ("perf core: Add PERF_COUNT_SW_CGROUP_SWITCHES event") (v5.13)
 */
#include "probe.h"
#include "cgroup.h"

PROBE(TITLE("switches between cgroups")
      SINCE("5.13")
      COMMIT("d0d1dd628527")
      NEEDS("cgroup")
      DISTURBS("cgroups: makes three and removes them")
      POINT(counts, "cgroup-switches counts at least 10 of 10 switches into another cgroup"))

static struct cgroups cgroups;

static void start_in_cgroup(struct worker *child, int cpu)
{
	int error;

	must_start_worker(child, WORKER_CHILD);
	must_make_cgroups(cpu, &cgroups);
	error = cgroup_move(cgroups.top, child->tid);
	if (error)
		say_blocked("a task in a cgroup of its own: %s", pm_errno_name(error));
	ASSERT_EQ(cpu, worker_move(child, 0));	/* now: a cpuset's cgroup gives it all CPUs */
}

/* A job that is over at once. */
static int wake_up(void *unused)
{
	return 0;
}

TEST(counts)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CGROUP_SWITCHES), control;
	int fd, cpu = move_to_nth_cpu(0);
	struct worker child;
	uint64_t count;

	start_in_cgroup(&child, cpu);
	attr.exclude_kernel = attr.disabled = 0;
	control = attr;
	control.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	fd = ask_open(&attr, &control, -1, cpu, "cgroup-switches event");
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(0, worker_do(&child, wake_up, NULL));
	count = must_count(fd);
	worker_stop(&child);
	cgroups_remove(&cgroups);
	if (count < 10)
		say_broken("counted=%" PRIu64 " want>=10", count);
}

PROBE_MAIN
