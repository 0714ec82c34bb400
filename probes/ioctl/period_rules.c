/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which new periods does a running event refuse?
 * Observed: a period that is right is taken by the same event before a wrong one is tried.
 */
#include "probe.h"
#include "live.h"

PROBE(TITLE("periods that are refused")
      SINCE("2.6.36")
      POINT(zero, "a period of 0 is EINVAL")
      POINT(bit_63, "a period with bit 63 set is EINVAL")
      SINCE("3.15")
      POINT(counting_event, "on an event that does not sample it is EINVAL")
      POINT(frequency_too_high, "a frequency above perf_event_max_sample_rate is EINVAL")
      POINT(bad_pointer, "a bad pointer is EFAULT"))

static int set_period(int fd, uint64_t period)
{
	return pm_ioctl(fd, PERF_EVENT_IOC_PERIOD, (uintptr_t)&period);
}

/* An event that has just taken a new period. */
static int must_take_five(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	int fd = must_live(&attr);

	ASSERT_EQ(0, set_period(fd, 5));
	return fd;
}

static void must_refuse(int answer, int want, const char *what)
{
	if (answer != -want)
		say_broken("%s: %s want=%s", what, pm_errno_name(answer), pm_errno_name(want));
}

TEST(zero)
{
	int fd = must_take_five();

	must_refuse(set_period(fd, 0), EINVAL, "period 0");
}

TEST(bit_63)
{
	int fd = must_take_five(), answer = set_period(fd, 1ull << 63);

	if (answer == 0)		/* as before v3.15 */
		say_no("a period of 2^63 is accepted");
	must_refuse(answer, EINVAL, "period 1 << 63");
}

TEST(counting_event)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = must_open(&attr, 0, -1, -1, 0);

	must_refuse(set_period(fd, 5), EINVAL, "a counting event");
}

TEST(frequency_too_high)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	int fd;

	/* cpu-clock turns its frequency into a period at open, so it would take any number. */
	if (probe_env()->max_sample_rate < 1)
		say_absent("perf_event_max_sample_rate is not readable");
	attr.freq = 1;
	attr.sample_freq = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	ASSERT_EQ(0, set_period(fd, 2));
	/* The limit sinks by itself under load; twice the first reading is above it for sure. */
	must_refuse(set_period(fd, 2 * probe_env()->max_sample_rate), EINVAL,
		    "a frequency of twice the limit");
}

TEST(bad_pointer)
{
	int fd = must_take_five();

	must_refuse(pm_ioctl(fd, PERF_EVENT_IOC_PERIOD, 8), EFAULT, "a bad pointer");
}

PROBE_MAIN
