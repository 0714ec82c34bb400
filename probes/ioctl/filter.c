/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are filters refused that mean nothing: on an event without fields, on a field that is not there?
 * Observed: a tracepoint takes a filter on a field it has.
 */
#include "probe.h"
#include "live.h"
#include "tracepoint.h"

PROBE(TITLE("filters of events")
      SINCE("2.6.33")
      POINT(filter_software, "SET_FILTER on a software event is EINVAL")
      SINCE("2.6.33")
      POINT(filter_tracepoint, "SET_FILTER on a tracepoint: a nonsense filter is EINVAL")
      SINCE("2.6.33")
      NEEDS("tracefs"))

TEST(filter_software)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ID);

	expect_answer(pm_ioctl(must_live(&attr), PERF_EVENT_IOC_SET_FILTER,
					(uintptr_t)"common_pid == 1"), EINVAL,
		      "SET_FILTER on a software event");
}

TEST(filter_tracepoint)
{
	struct perf_event_attr attr = must_tracepoint("sched", "sched_switch");
	int fd;

	fd = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (uintptr_t)"prev_pid == 1");
	fd = must_open(&attr, 0, -1, -1, 0);	/* a second filter on one event is EEXIST */
	expect_answer(pm_ioctl(fd, PERF_EVENT_IOC_SET_FILTER,
					(uintptr_t)"no_such_field == 1"), EINVAL,
		      "SET_FILTER on a field that is not there");
}

PROBE_MAIN
