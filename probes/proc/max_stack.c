/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does perf_event_max_stack bound how deep a call chain an event may ask for?
 *
 * A profiler that asks for more gets no event at all. Observed at the limit, where samples must
 * arrive, and one above it. proc.max_stack_in_use asks whether the setting may change.
 */
#include "probe.h"

PROBE(TITLE("the depth of call chains")
      SINCE("4.8")
      COMMIT("97c79a38cd45")
      POINT(up_to_limit, "sample_max_stack of the limit is accepted, and a chain is sampled")
      POINT(beyond_limit, "sample_max_stack of one more is EOVERFLOW"))

#define MAX_STACK "/proc/sys/kernel/perf_event_max_stack"

static struct perf_event_attr chain(int64_t *ret_limit)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CALLCHAIN);

	attr.exclude_callchain_kernel = 1;
	close(must_open(&attr, 0, -1, -1, 0));
	if (pm_read_number(MAX_STACK, ret_limit) < 0)
		say_absent("perf_event_max_stack is not there or not readable");
	return attr;
}

TEST(up_to_limit)
{
	int64_t limit;
	struct perf_event_attr attr = chain(&limit), plain = attr;
	struct pm_record record;
	struct sampler sampler;
	int fd;

	attr.sample_max_stack = limit > UINT16_MAX ? UINT16_MAX : limit;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd == -EOVERFLOW)
		say_broken("the limit of %" PRId64 " is itself refused with EOVERFLOW", limit);
	if (fd >= 0)
		close(fd);
	sampler = ask_sampler(&attr, &plain, 0, -1, 2, "sample_max_stack");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record) || record.sample.callchain_nr < 2)
		say_broken("no sample with a call chain");
}

TEST(beyond_limit)
{
	int64_t limit;
	struct perf_event_attr attr = chain(&limit), plain = attr;

	if (limit >= UINT16_MAX)
		say_absent("the limit is as large as the field");
	attr.sample_max_stack = 1;
	close(ask_open(&attr, &plain, 0, -1, "sample_max_stack"));
	attr.sample_max_stack = limit + 1;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EOVERFLOW, BROKEN, "one frame over the limit");
}

PROBE_MAIN
