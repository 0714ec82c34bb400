/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do time_enabled and time_running measure? Scaling divides one by the other, and rates divide
 * counts by them.
 * Observed: both times of a busy task, against each other and against the clock; around RESET.
 */
#include "probe.h"
#include "timed.h"

PROBE(TITLE("time_enabled and time_running")
      SINCE("2.6.31")
      POINT(equal, "a software event runs whenever it is enabled: both times are the same")
      POINT(wall_while_running, "they advance by no more than passed on the clock")
      POINT(kept_by_reset, "RESET leaves both times alone"))

#define FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static struct perf_event_attr timed(void)
{
	struct perf_event_attr attr = attr_counter(false);

	attr.read_format = FORMAT;
	return attr;
}

#define WINDOWS 20

/*
 * While the task runs and is not switched away the times go as the clock does. Two parts in a
 * hundred, for the scheduler's clock may be calibrated otherwise; one of whole milliseconds ticks.
 * A tick that comes late may hold it, but not in each window.
 */
static void expect_clocks_pace(int fd)
{
	int short_ones = 0;

	for (int tries = 0; tries < WINDOWS; tries++) {
		const uint64_t switches = count_switches();
		const struct pm_counts first = must_counts(fd, FORMAT);
		const uint64_t start = now_ns();
		struct pm_counts last;
		uint64_t wall, passed;

		spin_ns(2000000);
		wall = now_ns() - start;
		last = must_counts(fd, FORMAT);
		passed = last.time_enabled - first.time_enabled;
		if (count_switches() != switches)
			continue;
		if (!(first.time_enabled % 1000000 || last.time_enabled % 1000000))
			return;
		if (passed >= wall - wall / 50)
			return;
		short_ones++;
	}
	if (short_ones >= 10)
		say_broken("time_enabled went on by less than the clock in %d of %d windows",
			   short_ones, WINDOWS);
}

TEST(equal)
{
	const struct perf_event_attr attr = timed();
	struct pm_counts counts;
	int fd = must_open(&attr, 0, -1, -1, 0);

	counts = spin_until_timed(fd, NULL);
	if (!counts.time_enabled || counts.time_enabled != counts.time_running)
		say_broken("enabled=%" PRIu64 " running=%" PRIu64, counts.time_enabled,
			   counts.time_running);
	expect_clocks_pace(fd);
}

TEST(wall_while_running)
{
	const struct perf_event_attr attr = timed();
	uint64_t opened = now_ns(), wall;
	int fd = must_open(&attr, 0, -1, -1, 0);
	struct pm_counts counts;

	counts = spin_until_timed(fd, NULL);
	wall = now_ns() - opened;
	/* One part in 500, for the clocks may be disciplined differently, and one coarse tick. */
	if (!counts.time_enabled || counts.time_enabled > wall + wall / 500 + 10000000)
		say_broken("enabled=%" PRIu64 " ns in %" PRIu64 " ns", counts.time_enabled, wall);
}

TEST(kept_by_reset)
{
	const struct perf_event_attr attr = timed();
	int fd = must_open(&attr, 0, -1, -1, 0);
	struct pm_counts before, after;

	ASSERT_EQ(0, cause_faults(7));
	spin_until_timed(fd, NULL);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = must_counts(fd, FORMAT);
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	after = must_counts(fd, FORMAT);
	if (!before.time_enabled || after.time_enabled != before.time_enabled ||
	    after.time_running != before.time_running)
		say_broken("enabled=%" PRIu64 " running=%" PRIu64 ", after RESET %" PRIu64
			   " %" PRIu64,
			   before.time_enabled, before.time_running, after.time_enabled,
			   after.time_running);
	if (before.member[0].value < 7 || after.member[0].value)
		say_broken("value=%" PRIu64 " before and %" PRIu64 " after RESET",
			   before.member[0].value, after.member[0].value);
}

PROBE_MAIN
