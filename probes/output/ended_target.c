/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May a target still be named when its task has ended? The ring is there as long as it is mapped,
 * and other tasks of its CPU may share it. So a profiler that lets a thread's event lead the ring
 * of a CPU meets this; and even the event of a thread that lives ends, when the kernel has swapped
 * the contexts of that thread and of one that inherited the same events, and that one ends.
 * Observed: records of this thread in the ring of an event of a thread that has ended.
 */
#include "probe.h"

PROBE(TITLE("redirecting to the event of a task that has ended")
      SINCE("2.6.35")
      POINT(by_ioctl, "SET_OUTPUT accepts the target, and records arrive")
      POINT(by_flag, "FD_OUTPUT with FD_NO_GROUP accepts the target, and records arrive"))

#define BOTH (PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP)
#define FAULTS 11

FIXTURE(target)
{
	struct perf_event_attr attr;
	struct sampler sampler;
	struct worker worker;
	int cpu;
};

FIXTURE_SETUP(target)
{
	self->cpu = move_to_nth_cpu(0);
	if (self->cpu < 0)
		say_unknown("no CPU to stay on: %s", pm_errno_name(self->cpu));
	self->attr = attr_faults(PERF_SAMPLE_TID);
	must_start_worker(&self->worker, WORKER_THREAD);
	self->sampler = must_sampler(&self->attr, self->worker.tid, self->cpu, 1);
}

FIXTURE_TEARDOWN(target)
{
}

static void end_thread(FIXTURE_DATA(target) * self)
{
	int err = worker_stop(&self->worker);

	if (err < 0)
		say_unknown("the thread did not end: %s", pm_errno_name(err));
}

static void expect_records(int source, FIXTURE_DATA(target) * self)
{
	int found;

	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	found = samples_of_faults(&self->sampler, NULL, FAULTS);
	if (found != FAULTS)
		say_broken("records=%d want=%d", found, FAULTS);
}

TEST_F(target, by_ioctl)
{
	const int before = must_open(&self->attr, 0, self->cpu, -1, 0);
	const int after = must_open(&self->attr, 0, self->cpu, -1, 0);
	int err = pm_ioctl(before, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)self->sampler.fd);

	if (err < 0)
		say_unknown("%s while the thread lives", pm_errno_name(err));
	close(before);
	end_thread(self);
	err = pm_ioctl(after, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)self->sampler.fd);
	if (err < 0)
		say_no("%s when the thread has ended, ok before", pm_errno_name(err));
	expect_records(after, self);
}

TEST_F(target, by_flag)
{
	int fd = pm_open(&self->attr, 0, self->cpu, self->sampler.fd, BOTH);

	if (fd < 0)
		say_absent("%s while the thread lives", pm_errno_name(fd));
	close(fd);
	end_thread(self);
	fd = pm_open(&self->attr, 0, self->cpu, self->sampler.fd, BOTH);
	if (fd < 0)
		say_no("%s when the thread has ended, ok before", pm_errno_name(fd));
	expect_records(fd, self);
}

PROBE_MAIN
