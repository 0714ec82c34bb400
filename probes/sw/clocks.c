/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do cpu-clock and task-clock read? Not the time: nanoseconds for which the watched task was
 * on a CPU while the event was enabled, from 0 on. Must they be attached per thread? They may, and
 * then count that thread alone; a whole CPU's clock runs also while all its tasks sleep.
 * Observed: values bracketed by the monotonic clock and the thread's own CPU time.
 */
#include "probe.h"

PROBE(TITLE("clock events")
      SINCE("2.6.31")
      POINT(cpu.starts_at_zero, "cpu-clock reads 0 before it is enabled, whatever the time is")
      POINT(task.starts_at_zero, "task-clock reads 0 before it is enabled, whatever the time is")
      POINT(cpu.counts_on_cpu_time, "cpu-clock grows by the time this thread was on a CPU")
      POINT(task.counts_on_cpu_time, "task-clock grows by the time this thread was on a CPU")
      POINT(cpu.sleeps_with_task, "cpu-clock of a sleeping thread stands still")
      POINT(task.sleeps_with_task, "task-clock of a sleeping thread stands still")
      POINT(cpu.other_thread, "cpu-clock does not count another thread of the process")
      POINT(task.other_thread, "task-clock does not count another thread of the process")
      POINT(cpu.whole_cpu, "cpu-clock of a CPU (pid -1) goes with the wall clock, asleep or not")
      POINT(task.whole_cpu, "task-clock of a CPU (pid -1) goes with the wall clock, asleep or not")
      FACT(cpu.excluded, bool, "-", "cpu-clock counts although user and kernel are excluded")
      FACT(task.excluded, bool, "-", "task-clock counts although user and kernel are excluded"))

#define MS UINT64_C(1000000)

FIXTURE(clock)
{
	struct perf_event_attr attr;
};

FIXTURE_VARIANT(clock)
{
	uint64_t config;
	const char *excluded;
};

FIXTURE_VARIANT_ADD(clock, cpu)
{
	.config = PERF_COUNT_SW_CPU_CLOCK, .excluded = "cpu.excluded",
};

FIXTURE_VARIANT_ADD(clock, task)
{
	.config = PERF_COUNT_SW_TASK_CLOCK, .excluded = "task.excluded",
};

FIXTURE_SETUP(clock)
{
	self->attr = attr_software(variant->config);
}

FIXTURE_TEARDOWN(clock)
{
}

static uint64_t thread_ns(void)
{
	uint64_t now = 0;

	pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	return now;
}

static int spin(void *unused)
{
	(void)unused;
	spin_ns(4 * MS);
	return 0;
}

TEST_F(clock, starts_at_zero)
{
	int fd = must_open(&self->attr, 0, -1, -1, 0);
	uint64_t before = must_count(fd), wall = now_ns(), after;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	after = must_count(fd);
	wall = now_ns() - wall;
	if (before != 0 || after > wall)
		broken("before=%" PRIu64 " want=0, after=%" PRIu64 " want<=%" PRIu64, before,
		       after, wall);
}

/* The CPU time is less than what the event saw where a hypervisor or interrupts steal from it. */
TEST_F(clock, counts_on_cpu_time)
{
	int fd = must_open(&self->attr, 0, -1, -1, 0);
	uint64_t wall = now_ns(), least, count;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	least = thread_ns();
	spin(NULL);
	least = thread_ns() - least;
	count = must_count(fd);
	wall = now_ns() - wall;
	if (count + count / 16 < least || count > wall + wall / 16)
		broken("counted=%" PRIu64 " want>=%" PRIu64 " (CPU time) and <=%" PRIu64 " (wall)",
		       count, least, wall);
	self->attr.exclude_user = 1;
	fd = pm_open(&self->attr, 0, -1, -1, 0);
	if (fd < 0)
		return;
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin(NULL);
	fact_bool(variant->excluded, must_count(fd) != 0);
}

TEST_F(clock, sleeps_with_task)
{
	int fd = must_open(&self->attr, 0, -1, -1, 0);
	uint64_t before, count, wall;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(MS);
	wall = now_ns();
	before = must_count(fd);
	poll(NULL, 0, 30);
	count = must_count(fd) - before;
	wall = now_ns() - wall;
	if (!before || count > wall / 3)
		broken("counted asleep=%" PRIu64 " of %" PRIu64 " ns, awake before=%" PRIu64, count,
		       wall, before);
}

TEST_F(clock, other_thread)
{
	int fd = must_open(&self->attr, 0, -1, -1, 0);
	uint64_t before, count, most;
	struct worker worker;

	must_start(&worker, WORKER_THREAD);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(MS);
	most = now_ns();
	before = must_count(fd);
	ASSERT_EQ(0, worker_do(&worker, spin, NULL));
	count = must_count(fd) - before;
	most = (now_ns() - most) / 2;
	if (!before || count > most)
		broken("counted=%" PRIu64 " want<%" PRIu64 " while another thread was busy", count,
		       most);
}

TEST_F(clock, whole_cpu)
{
	int fd = must_open(&self->attr, -1, move_to_nth_cpu(0), -1, 0);
	uint64_t outer = now_ns(), before, inner, count;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	before = must_count(fd);
	inner = now_ns();
	poll(NULL, 0, 30);
	inner = now_ns() - inner;
	count = must_count(fd) - before;
	outer = now_ns() - outer;
	if (count + inner / 16 < inner || count > outer + outer / 16)
		broken("counted=%" PRIu64 " want %" PRIu64 " to %" PRIu64, count, inner, outer);
}

PROBE_MAIN
