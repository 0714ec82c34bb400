/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May events of several tasks share the ring of a CPU? Yes, as long as they are bound to it: this
 * is what a profiler with one ring a CPU is built on, instead of one for each task and event.
 * Observed by the records of the source's task in the target's ring.
 */
#include "probe.h"

PROBE(TITLE("sharing the ring of a CPU")
      SINCE("2.6.35")
      ALONE("what others do on the CPU fills the ring, too")
      POINT(other_thread, "events of two threads on the same CPU")
      POINT(other_process, "events of two processes on the same CPU")
      POINT(inherited, "an inherited source into a target that is not; children too")
      POINT(cpu_wide, "two events of a whole CPU")
      POINT(any_cpu_inherited, "an inherited source of any CPU is accepted; no more is asked"))

#define FAULTS 11

FIXTURE(home)
{
	struct perf_event_attr attr;
	int cpu;
};

FIXTURE_SETUP(home)
{
	const int cpu = move_to_nth_cpu(0);

	self->cpu = cpu < 0 ? 0 : cpu;
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
	worker_do(&other, stay_home, NULL);
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
