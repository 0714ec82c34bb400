/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May events of several tasks share the ring of a CPU? Yes, as long as they are bound to it: a
 * profiler with one ring per CPU is built on this, instead of one ring for each task and event.
 * Observed: records of the source's task in the target's ring.
 */
#include "probe.h"

PROBE(TITLE("sharing the ring of a CPU")
      SINCE("2.6.35")
      ALONE("other tasks of the CPU fill a CPU-wide ring, too")
      POINT(other_thread, "events of two threads on the same CPU share a ring")
      POINT(other_process, "events of two processes on the same CPU share a ring")
      POINT(inherited, "an inherited source and its child write into a target without inherit")
      POINT(cpu_wide, "two CPU-wide events of the same CPU share a ring")
      POINT(task_into_cpu_wide, "an event of a task on a CPU writes into a CPU-wide event's ring")
      POINT(cpu_wide_into_task, "a CPU-wide event writes into the ring of a task's event on it")
      POINT(any_cpu_inherited, "SET_OUTPUT accepts an inherited source on any CPU"))

#define FAULTS 11

FIXTURE(home)
{
	struct perf_event_attr attr;
	int cpu;
};

FIXTURE_SETUP(home)
{
	self->cpu = move_to_nth_cpu(0);
	if (self->cpu < 0)
		say_unknown("no CPU to stay on: %s", pm_errno_name(self->cpu));
	self->attr = attr_faults(PERF_SAMPLE_TID);
}

FIXTURE_TEARDOWN(home)
{
}

/* Redirect, which must be accepted. */
static void redirect(int source, int target)
{
	expect_refused(pm_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target), 0, BROKEN,
		       "SET_OUTPUT");
}

static void expect(int source, struct sampler *target, struct worker *worker)
{
	int found;

	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	found = samples_of_faults(target, worker, FAULTS);
	if (worker)
		worker_dismiss(worker);
	if (found != FAULTS)
		say_broken("records=%d want=%d of the source's task", found, FAULTS);
}

static int stay_home(void *unused)
{
	(void)unused;
	return move_to_nth_cpu(0) < 0;
}

static void share_with(FIXTURE_DATA(home) * self, enum worker_kind kind)
{
	struct sampler target = must_sampler(&self->attr, 0, self->cpu, 1);
	struct worker other;
	int source;

	must_start_worker(&other, kind);
	if (worker_do(&other, stay_home, NULL))
		say_unknown("the other task cannot be moved to this CPU");
	source = must_open(&self->attr, other.tid, self->cpu, -1, 0);
	redirect(source, target.fd);
	expect(source, &target, &other);
}

TEST_F(home, other_thread)
{
	share_with(self, WORKER_THREAD);
}

TEST_F(home, other_process)
{
	share_with(self, WORKER_CHILD);
}

TEST_F(home, inherited)
{
	struct sampler target = must_sampler(&self->attr, 0, self->cpu, 1);
	struct worker child;
	int source;

	self->attr.inherit = 1;
	source = must_open(&self->attr, 0, self->cpu, -1, 0);
	redirect(source, target.fd);
	must_start_worker(&child, WORKER_THREAD);	/* on this CPU, as its maker */
	expect(source, &target, &child);
}

TEST_F(home, cpu_wide)
{
	struct sampler target = must_sampler(&self->attr, -1, self->cpu, 8);
	int source = must_open(&self->attr, -1, self->cpu, -1, 0);

	redirect(source, target.fd);
	expect(source, &target, NULL);
}

/* This task on the CPU, and all tasks of the CPU: the kernel compares the CPU alone. */
TEST_F(home, task_into_cpu_wide)
{
	struct sampler target = must_sampler(&self->attr, -1, self->cpu, 8);
	int source = must_open(&self->attr, 0, self->cpu, -1, 0);

	redirect(source, target.fd);
	expect(source, &target, NULL);
}

TEST_F(home, cpu_wide_into_task)
{
	struct sampler target = must_sampler(&self->attr, 0, self->cpu, 8);
	int source = must_open(&self->attr, -1, self->cpu, -1, 0);

	redirect(source, target.fd);
	expect(source, &target, NULL);
}

TEST_F(home, any_cpu_inherited)
{
	struct sampler target = must_sampler(&self->attr, 0, -1, 1);

	self->attr.inherit = 1;
	redirect(must_open(&self->attr, 0, -1, -1, 0), target.fd);
	/* A kernel that says yes to everything would accept this as well. */
	expect_refused(pm_ioctl(target.fd, PERF_EVENT_IOC_SET_OUTPUT, target.fd), EINVAL, BROKEN,
		       "an event to itself");
}

PROBE_MAIN
