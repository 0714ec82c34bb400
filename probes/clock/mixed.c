/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May events with different clocks share a group or a ring? Their stamps could not be compared.
 * Linux 34f439278cef ("perf: Add per event clockid support") (v4.1)
 */
#include "probe.h"

PROBE(TITLE("different clocks together")
      SINCE("4.1")
      COMMIT("34f439278cef")
      POINT(group_refused, "a sibling with another clock than its leader is EINVAL")
      POINT(output_refused, "SET_OUTPUT to an event with another clock is EINVAL")
      POINT(group_same, "a sibling with the same clock is taken")
      POINT(output_same, "SET_OUTPUT to an event with the same clock delivers"))

static struct perf_event_attr attr_clock(bool chosen)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TIME);

	attr.use_clockid = chosen;
	attr.clockid = chosen ? CLOCK_MONOTONIC : 0;
	return attr;
}

static struct sampler watch_chosen(void)
{
	struct perf_event_attr attr = attr_clock(true), without = attr_clock(false);

	return ask_sampler(&attr, &without, 0, -1, 2, "use_clockid");
}

TEST(group_same)
{
	struct sampler leader = watch_chosen();
	struct perf_event_attr same = attr_clock(true);
	uint64_t count;
	int fd;

	same.disabled = 0;
	fd = must_open(&same, 0, -1, leader.fd, 0);
	must_ioctl(leader.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(5));
	must_ioctl(leader.fd, PERF_EVENT_IOC_DISABLE, 0);
	count = must_count(fd);
	if (count < 5)
		say_broken("the sibling counted %" PRIu64 " of 5 faults", count);
}

TEST(group_refused)
{
	struct sampler leader = watch_chosen();
	struct perf_event_attr other = attr_clock(false), same = attr_clock(true);

	close(must_open(&same, 0, -1, leader.fd, 0));
	expect_refused(pm_open(&other, 0, -1, leader.fd, 0), EINVAL, BROKEN,
		       "a sibling with another clock");
}

TEST(output_same)
{
	struct sampler target = watch_chosen();
	struct perf_event_attr same = attr_clock(true);
	struct pm_record record;
	int fd = must_open(&same, 0, -1, -1, 0);

	must_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!find_record(&target, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample in the other event's ring");
}

TEST(output_refused)
{
	struct sampler target = watch_chosen();
	struct perf_event_attr other = attr_clock(false), same = attr_clock(true);
	int fd = must_open(&other, 0, -1, -1, 0), control = must_open(&same, 0, -1, -1, 0);
	int answer;

	must_ioctl(control, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	answer = pm_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	if (answer != -EINVAL)
		say_broken("SET_OUTPUT across clocks: %s want=EINVAL", pm_errno_name(answer));
}

PROBE_MAIN
