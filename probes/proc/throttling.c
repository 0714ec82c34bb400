/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How do the settings that limit the CPU time of sampling depend on one another?
 *
 * With perf_cpu_time_max_percent at 0 or 100 the kernel limits nothing, and then refuses to set
 * the rate by hand. Values beyond the range are refused since v4.11 and were accepted before. All
 * values are restored when the program ends, however it ends. The kernel warns in its log.
 */
#include "probe.h"
#include "privilege.h"
#include "setting.h"

#define RATE "/proc/sys/kernel/perf_event_max_sample_rate"
#define PERCENT "/proc/sys/kernel/perf_cpu_time_max_percent"

PROBE(TITLE("limits of the time for sampling")
      SINCE("3.11")
      COMMIT("14c63f17b1fd")
      NEEDS("root")
      DISTURBS("the limits of sampling for all tasks")
      POINT(above_range, "101 percent is EINVAL")
      SINCE("4.11")
      COMMIT("1572e45a924f")
      POINT(below_range, "-1 percent is EINVAL")
      SINCE("4.11")
      COMMIT("1572e45a924f")
      POINT(rate_writable, "at 25 percent the rate can be set, and events follow it")
      POINT(rate_fixed_at_0, "at 0 percent the rate cannot be set: EINVAL")
      SINCE("4.6")
      POINT(rate_fixed_at_100, "at 100 percent the rate cannot be set: EINVAL")
      SINCE("4.6"))

static void __attribute__((constructor)) keep(void)
{
	restore_at_exit(PERCENT);
	restore_at_exit(RATE);
}

static int64_t value_of(const char *path)
{
	int64_t value = -1;

	pm_read_number(path, &value);
	return value;
}

static void set(const char *path, const char *text)
{
	int error = write_file(path, text);

	if (error)
		say_unknown("%s to %s: %s", text, strrchr(path, '/') + 1, pm_errno_name(error));
}

FIXTURE(limits)
{
	int unused;
};

FIXTURE_SETUP(limits)
{
	require(REQUIRE_PERF | REQUIRE_ROOT);
	ask_setting(PERCENT);
	set(PERCENT, "25");
}

FIXTURE_TEARDOWN(limits)
{
}

static void out_of_range(const char *text)
{
	int error = write_file(PERCENT, text);

	if (!error && value_of(PERCENT) != 25)
		say_no("%s percent accepted", text);
	if (error != -EINVAL)
		say_broken("%s percent: errno=%s want=EINVAL", text, pm_errno_name(error));
}

TEST_F(limits, above_range)
{
	out_of_range("101");
}

TEST_F(limits, below_range)
{
	out_of_range("-1");
}

TEST_F(limits, rate_writable)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	set(RATE, "20000");
	attr.freq = 1;
	attr.sample_freq = 20000;
	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_freq = 20001;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "one more than the rate set");
}

static void fixed(const char *percent)
{
	int64_t before = value_of(RATE);
	int error;

	set(PERCENT, percent);
	/* The test before may have set a rate. */
	error = write_file(RATE, before == 30000 ? "20000" : "30000");
	if (!error && value_of(RATE) != before)
		say_no("at %s percent the rate can be set", percent);
	if (error != -EINVAL)
		say_broken("rate at %s percent: errno=%s want=EINVAL", percent,
			   pm_errno_name(error));
}

TEST_F(limits, rate_fixed_at_0)
{
	fixed("0");
}

TEST_F(limits, rate_fixed_at_100)
{
	fixed("100");
}

PROBE_MAIN
