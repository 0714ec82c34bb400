/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May an inherit event put its counter into each sample? Profilers that attach to a whole process
 * want both; kernels before v6.12 refuse the pair, later ones take it if the sample also carries
 * the tid.
 * Observed: the answers to opening it with PERF_SAMPLE_TID and without.
 * Linux 7e8b255650fc ("perf: Support PERF_SAMPLE_READ with inherit") (v6.12)
 */
#include "probe.h"

PROBE(TITLE("counters in the samples of inherit events")
      SINCE("6.12")
      COMMIT("7e8b255650fc")
      POINT(with_tid, "inherit with PERF_SAMPLE_READ and PERF_SAMPLE_TID is accepted")
      POINT(without_tid, "inherit with PERF_SAMPLE_READ but without PERF_SAMPLE_TID is refused "
	    "with EINVAL"))

static struct perf_event_attr reading(bool inherit, uint64_t sample_type)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_READ | sample_type);

	attr.inherit = inherit;
	return attr;
}

TEST(with_tid)
{
	const struct perf_event_attr attr = reading(true, PERF_SAMPLE_TID);
	const struct perf_event_attr without = reading(false, PERF_SAMPLE_TID);

	int fd;

	fd = ask_open(&attr, &without, 0, -1, "inherit, PERF_SAMPLE_READ and PERF_SAMPLE_TID");
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, 3, 3);
}

TEST(without_tid)
{
	const struct perf_event_attr attr = reading(true, 0), without = reading(false, 0);

	must_open(&without, 0, -1, -1, 0);
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO,
		       "PERF_SAMPLE_READ without the tid");
}

PROBE_MAIN
