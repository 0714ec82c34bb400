/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does perf_event_max_sample_rate bound the frequency of an event, and for whom?
 *
 * The kernel lowers the rate by itself when sampling takes too much time, so the value may change
 * between two reads. Every comparison is repeated when it did.
 */
#include "probe.h"
#include "finding.h"
#include "privilege.h"

PROBE(TITLE("the sampling rate")
      SINCE("2.6.32")
      POINT(up_to_limit, "a frequency of the limit is accepted")
      POINT(beyond_limit, "a frequency of one more is EINVAL")
      POINT(period_unbounded, "the limit is for frequencies: a period of 1 samples every fault")
      POINT(nonsense_refused, "a word instead of a number cannot be set: EINVAL")
      NEEDS("root")
      FACT(limit, int, "Hz", "perf_event_max_sample_rate")
      FACT(lowered, bool, "-", "the kernel has lowered the limit from its default of 100000"))

#define RATE "/proc/sys/kernel/perf_event_max_sample_rate"

/* The answer to a frequency that far above the limit, while the limit did not move: 0 or -errno */
static int answer(int above, int64_t *ret_limit)
{
	struct perf_event_attr attr = must_open_plain();
	int64_t before, after;
	int error;

	for (int round = 0; round < 100; round++) {
		if (pm_read_number(RATE, &before) < 0)
			say_absent("perf_event_max_sample_rate is not there or not readable");
		attr.freq = 1;
		attr.sample_freq = before + above;
		error = try_open(&attr);
		pm_read_number(RATE, &after);
		if (before == after) {
			*ret_limit = before;
			return error;
		}
	}
	say_unknown("the limit does not stand still");
}

TEST(up_to_limit)
{
	int64_t limit;
	int error = answer(0, &limit);

	fact_int("limit", limit);
	fact_bool("lowered", limit < 100000);
	if (error && answer(1 - limit, &limit))
		say_unknown("no frequency is accepted: %s", pm_errno_name(error));
	if (error)
		say_broken("frequency=%" PRId64 " errno=%s", limit, pm_errno_name(error));
}

TEST(beyond_limit)
{
	int64_t limit;
	int error = answer(1, &limit);

	if (error != -EINVAL)
		say_broken("limit=%" PRId64 ": one more is %s", limit, pm_errno_name(error));
}

TEST(period_unbounded)
{
	struct perf_event_attr plain = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct sampler sampler = ask_sampler(&attr, &plain, 0, -1, 4, "a period of 1");
	int samples;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	samples = samples_of_faults(&sampler, NULL, 16);
	if (samples != 16)
		say_broken("samples=%d want=16", samples);
}

TEST(nonsense_refused)
{
	int64_t before, after;
	int error;

	before = after = -1;
	if (pm_read_number(RATE, &before) < 0)
		say_absent("perf_event_max_sample_rate is not there or not readable");
	if (access(RATE, W_OK) < 0)
		say_blocked("perf_event_max_sample_rate is not writable: needs root");
	error = write_file(RATE, "often");
	pm_read_number(RATE, &after);
	if (error != -EINVAL || after > before)
		say_broken("writing a word: errno=%s value=%" PRId64, pm_errno_name(error), after);
}

PROBE_MAIN
