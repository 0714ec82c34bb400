/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do time_enabled and time_running of a cgroup's event measure? A container's counts are
 * scaled by one over the other, and its rates divide by them: the time of the cgroup's tasks on the
 * CPU, not that of the clock.
 * Observed: a child in a temporary cgroup that works or sleeps, pinned to the watched CPU; and more
 * events of the cgroup than the CPU has counters.
 * Linux e5d1367f17ba ("perf: Add cgroup support") (v2.6.39)
 */
#include "probe.h"
#include "cgroup.h"
#include "core_pmu.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

PROBE(TITLE("the times of a cgroup's event")
      SINCE("2.6.39")
      COMMIT("e5d1367f17ba")
      NEEDS("cgroup")
      DISTURBS("cgroups: makes three and removes them")
      POINT(work_counts, "the times advance while a task of the cgroup works, and stay equal")
      POINT(rest_does_not, "the times stand still while no task of the cgroup is on the CPU")
      POINT(shared, "more events of a cgroup than counters: each runs for a part of its enabled "
	    "time")
      NEEDS("pmu"))

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define MANY 20			/* more counters than any core has for one event */
#define WORK_NS 20000000
#define ROUNDS 50		/* of the child's work, until each event has run */

FIXTURE(times)
{
	struct cgroups cgroups;
	struct worker child;
	int cpu;
};

FIXTURE_SETUP(times)
{
	int error;

	self->cpu = move_to_nth_cpu(0);
	must_start_worker(&self->child, WORKER_CHILD);
	must_make_cgroups(self->cpu, &self->cgroups);
	error = cgroup_move(self->cgroups.top, self->child.tid);
	if (error)
		say_blocked("a task in a cgroup of its own: %s", pm_errno_name(error));
	/* Now: a cgroup with a cpuset gives a task that moves in all of its CPUs. */
	ASSERT_EQ(self->cpu, worker_move(&self->child, 0));
}

FIXTURE_TEARDOWN(times)
{
	worker_stop(&self->child);
	cgroups_remove(&self->cgroups);
}

static int open_timed(FIXTURE_DATA(times) * self, struct perf_event_attr attr)
{
	int directory = open(self->cgroups.top, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

	ASSERT_LE(0, directory);
	attr.disabled = 0;
	attr.read_format = TIMES;
	fd = must_open(&attr, directory, self->cpu, -1, PERF_FLAG_PID_CGROUP);
	close(directory);
	return fd;
}

static int work(void *unused)
{
	spin_ns(WORK_NS);
	return wake_and_spin(unused);
}

/* Wait until a process sleeps. Without /proc nobody knows when it does. */
static bool comes_to_rest(pid_t pid)
{
	char path[48], text[1024], *name_end;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (int tries = 0; tries < 5000; tries++) {
		if (pm_read_text(path, text, sizeof(text)) <= 0)
			return false;
		name_end = strrchr(text, ')');
		if (name_end && !strncmp(name_end, ") S", 3))
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

/* What the times are once the child has worked for a while. */
static struct pm_counts after_work(FIXTURE_DATA(times) * self, int fd)
{
	struct pm_counts counts = { 0 };

	for (int round = 0; round < 50 && counts.time_enabled < WORK_NS; round++) {
		ASSERT_EQ(0, worker_do(&self->child, work, NULL));
		counts = must_counts(fd, TIMES);
	}
	return counts;
}

TEST_F(times, work_counts)
{
	int fd = open_timed(self, attr_software(PERF_COUNT_SW_PAGE_FAULTS));
	const struct pm_counts counts = after_work(self, fd);

	if (counts.time_enabled < WORK_NS || counts.time_running != counts.time_enabled)
		say_broken("enabled=%" PRIu64 " running=%" PRIu64 ", want both more than %d",
			   counts.time_enabled, counts.time_running, WORK_NS);
}

/* The child sleeps, and this thread, which is in another cgroup, works on the CPU. */
TEST_F(times, rest_does_not)
{
	int fd = open_timed(self, attr_software(PERF_COUNT_SW_PAGE_FAULTS));
	struct pm_counts before = after_work(self, fd), after;

	if (!comes_to_rest(self->child.tid))
		say_unknown("the child does not come to rest");
	before = must_counts(fd, TIMES);
	spin_ns(WORK_NS);
	after = must_counts(fd, TIMES);
	if (!before.time_enabled || after.time_enabled - before.time_enabled > WORK_NS / 4)
		say_broken("enabled=%" PRIu64 " after work, %" PRIu64 " after %d ns of rest",
			   before.time_enabled, after.time_enabled, WORK_NS);
}

/* Reads all of them. Returns how many have never run. */
static int count_idle(const int *fds, struct pm_counts *counts)
{
	int idle = 0;

	for (int i = 0; i < MANY; i++) {
		counts[i] = must_counts(fds[i], TIMES);
		idle += !counts[i].time_running;
	}
	return idle;
}

/*
 * Events that share take turns by a timer, and a starved host lets few of its ticks through. Where
 * they had many none has run for much more than its share of what all have run together.
 */
static bool takes_turns(const struct pm_counts *counts)
{
	uint64_t sum = 0, most = 0;

	for (int i = 0; i < MANY; i++) {
		sum += counts[i].time_running;
		most = counts[i].time_running > most ? counts[i].time_running : most;
	}
	return most < 2 * sum / MANY;
}

TEST_F(times, shared)
{
	const struct perf_event_attr attr =
		attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	struct pm_counts counts[MANY];
	int fds[MANY], idle = MANY, sharing = 0;

	must_have_counters();
	ASSERT_EQ(self->cpu, move_to_nth_cpu(0));
	for (int i = 0; i < MANY; i++)
		fds[i] = open_timed(self, attr);
	after_work(self, fds[0]);
	for (int round = 0; round < ROUNDS && (idle || round < 10); round++) {
		ASSERT_EQ(0, worker_do(&self->child, work, NULL));
		idle = count_idle(fds, counts);
	}
	if (idle && !takes_turns(counts))
		say_unknown("%d of %d events never ran, and the others hardly took turns", idle,
			    MANY);
	for (int i = 0; i < MANY; i++) {
		if (!counts[i].time_running || counts[i].time_running > counts[i].time_enabled)
			say_broken("event %d of %d: running=%" PRIu64 " enabled=%" PRIu64, i, MANY,
				   counts[i].time_running, counts[i].time_enabled);
		sharing += counts[i].time_running <
			   counts[i].time_enabled - counts[i].time_enabled / 10;
	}
	if (!sharing)
		say_absent("%d instruction counters run at once here", MANY);
}

PROBE_MAIN
