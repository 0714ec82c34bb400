/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When do time_enabled and time_running run? Scaling divides one by the other, and rates divide
 * counts by them.
 * Observed: both are read around a deed for which they must, or must not, advance.
 */
#include "probe.h"

PROBE(TITLE("time_enabled and time_running")
      SINCE("2.6.31")
      POINT(equal, "a software event runs whenever it is enabled: both times are the same")
      POINT(wall_while_running, "they advance by no more than passed on the clock")
      POINT(stops_disabled, "they stand still while the event is disabled")
      POINT(stops_asleep, "they stand still while the task sleeps")
      POINT(stops_dead, "they stand still after the task's end")
      POINT(other_cpu, "an event of task and CPU does not run while the task is on another CPU")
      NEEDS("cpu2")
      POINT(kept_by_reset, "RESET leaves both times alone")
      FACT(enabled_on_other_cpu, bool, "-",
	   "time_enabled of an event of task and CPU advances while the task is on another CPU"))

#define FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define SPIN 2000000u

static struct perf_event_attr timed(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	attr.read_format = FORMAT;
	return attr;
}

static struct pm_counts times_of(struct __test_metadata *_metadata, int fd)
{
	struct pm_counts counts = { .nr = 0 };
	int error = pm_read_counts(fd, FORMAT, &counts);

	if (error)
		cannot_tell("read: %s", errno_name(error));
	return counts;
}

static int spin(void *unused)
{
	(void)unused;
	spin_ns(SPIN);
	return 0;
}

/* Let the task run until its time shows: a scheduler clock may tick every 10 ms only. */
static struct pm_counts run_until_timed(struct __test_metadata *_metadata, int fd,
					struct worker *worker)
{
	struct pm_counts counts;

	for (int tries = 0; tries < 50; tries++) {
		if (worker)
			worker_do(worker, spin, NULL);
		else
			spin(NULL);
		counts = times_of(_metadata, fd);
		if (counts.time_enabled)
			break;
	}
	return counts;
}

static void want_still(struct __test_metadata *_metadata, const struct pm_counts *before,
		       const struct pm_counts *after)
{
	if (after->time_enabled != before->time_enabled ||
	    after->time_running != before->time_running)
		broken("enabled +%" PRIu64 " ns, running +%" PRIu64 " ns, want 0",
		       after->time_enabled - before->time_enabled,
		       after->time_running - before->time_running);
	if (!before->time_enabled || !before->time_running)
		broken("enabled=%" PRIu64 " running=%" PRIu64 " although it had run",
		       before->time_enabled, before->time_running);
}

TEST(equal)
{
	const struct perf_event_attr attr = timed();
	struct pm_counts counts;
	int fd = must_open(&attr, 0, -1, -1, 0);

	counts = run_until_timed(_metadata, fd, NULL);
	if (!counts.time_enabled || counts.time_enabled != counts.time_running)
		broken("enabled=%" PRIu64 " running=%" PRIu64, counts.time_enabled,
		       counts.time_running);
}

TEST(wall_while_running)
{
	const struct perf_event_attr attr = timed();
	uint64_t opened = now_ns(), wall;
	int fd = must_open(&attr, 0, -1, -1, 0);
	struct pm_counts counts;

	counts = run_until_timed(_metadata, fd, NULL);
	wall = now_ns() - opened;
	/* One part in 500, for the clocks may be disciplined differently, and one coarse tick. */
	if (!counts.time_enabled || counts.time_enabled > wall + wall / 500 + 10000000)
		broken("enabled=%" PRIu64 " ns in %" PRIu64 " ns", counts.time_enabled, wall);
}

TEST(stops_disabled)
{
	const struct perf_event_attr attr = timed();
	int fd = must_open(&attr, 0, -1, -1, 0);
	struct pm_counts before, after;

	run_until_timed(_metadata, fd, NULL);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = times_of(_metadata, fd);
	spin_ns(SPIN);
	after = times_of(_metadata, fd);
	want_still(_metadata, &before, &after);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int tries = 0; tries < 50 && before.time_enabled == after.time_enabled; tries++)
		before = run_until_timed(_metadata, fd, NULL);
	if (before.time_enabled <= after.time_enabled)
		broken("enabled again, and yet time_enabled stays %" PRIu64, after.time_enabled);
}

/* The worker may need a moment to fall asleep: bounded tries until two reads agree. */
TEST(stops_asleep)
{
	const struct perf_event_attr attr = timed();
	struct pm_counts before, after;
	struct worker child;
	int fd, tries = 0;

	must_start(&child, WORKER_CHILD);
	fd = must_open(&attr, child.tid, -1, -1, 0);
	run_until_timed(_metadata, fd, &child);
	do {
		spin_ns(SPIN / 4);
		before = times_of(_metadata, fd);
		spin_ns(SPIN);
		after = times_of(_metadata, fd);
	} while (after.time_enabled != before.time_enabled && tries++ < 200);
	want_still(_metadata, &before, &after);
	worker_stop(&child);
}

TEST(stops_dead)
{
	const struct perf_event_attr attr = timed();
	struct pm_counts before, after;
	struct worker child;
	int fd;

	must_start(&child, WORKER_CHILD);
	fd = must_open(&attr, child.tid, -1, -1, 0);
	run_until_timed(_metadata, fd, &child);
	ASSERT_EQ(0, worker_stop(&child));
	before = times_of(_metadata, fd);
	spin_ns(SPIN);
	after = times_of(_metadata, fd);
	want_still(_metadata, &before, &after);
}

TEST(other_cpu)
{
	const struct perf_event_attr attr = timed();
	struct pm_counts before, after;
	int fd, cpu;

	require(REQUIRE_PERF | REQUIRE_CPU2);
	cpu = move_to_nth_cpu(0);
	ASSERT_LE(0, cpu);
	fd = must_open(&attr, 0, cpu, -1, 0);
	ASSERT_EQ(0, cause_faults(7));
	run_until_timed(_metadata, fd, NULL);
	ASSERT_LE(0, move_to_nth_cpu(1));
	before = times_of(_metadata, fd);
	spin_ns(SPIN);
	ASSERT_EQ(0, cause_faults(7));
	after = times_of(_metadata, fd);
	fact_bool("enabled_on_other_cpu", after.time_enabled != before.time_enabled);
	if (after.time_running != before.time_running || !before.time_running)
		broken("running=%" PRIu64 ", +%" PRIu64 " ns on the other CPU", before.time_running,
		       after.time_running - before.time_running);
	if (before.member[0].value < 7 || after.member[0].value != before.member[0].value)
		broken("counted=%" PRIu64 " here, %" PRIu64 " more on the other CPU",
		       before.member[0].value, after.member[0].value - before.member[0].value);
}

TEST(kept_by_reset)
{
	const struct perf_event_attr attr = timed();
	int fd = must_open(&attr, 0, -1, -1, 0);
	struct pm_counts before, after;

	ASSERT_EQ(0, cause_faults(7));
	run_until_timed(_metadata, fd, NULL);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = times_of(_metadata, fd);
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	after = times_of(_metadata, fd);
	want_still(_metadata, &before, &after);
	if (before.member[0].value < 7 || after.member[0].value)
		broken("value=%" PRIu64 " before and %" PRIu64 " after RESET",
		       before.member[0].value, after.member[0].value);
}

PROBE_MAIN
