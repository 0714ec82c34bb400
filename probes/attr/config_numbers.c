/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does a PMU answer for a number that none of its events has?
 *
 * Kernels and PMUs differ: EINVAL or ENOENT. A library falls back after either; another errno, or
 * an event that opens and counts something else, sends it astray. Software: attr.config.
 */
#include "probe.h"

PROBE(TITLE("numbers that no event of a PMU has")
      SINCE("2.6.31")
      POINT(tracepoint_unknown, "a tracepoint of a number too high is EINVAL or ENOENT")
      FACT(tracepoint_errno, string, "-", "errno of a tracepoint that does not exist")
      POINT(hardware_out_of_range, "a hardware event of a number too high is EINVAL or ENOENT")
      NEEDS("pmu")
      POINT(cache_out_of_range, "a cache event of an unknown level is EINVAL or ENOENT")
      NEEDS("pmu"))

static int open_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = attr_of(type, config);

	return pm_open(&attr, 0, -1, -1, 0);
}

/* Of these two errnos kernels and PMUs differ; only another one or acceptance is wrong. */
static void neither(struct __test_metadata *_metadata, int error, const char *what)
{
	struct finding finding;

	if (error == -EINVAL || error == -ENOENT)
		return;
	probe_rule(error, ENOENT, BROKEN, what, &finding);
	speak(&finding);
}

TEST(tracepoint_unknown)
{
	int error;

	must_plain();
	if (pm_pmu_type("tracepoint") < 0)
		say_absent("no tracepoint PMU");
	error = open_event(PERF_TYPE_TRACEPOINT, 0xffff);
	if (error < 0)
		fact_str("tracepoint_errno", "%s", errno_name(error));
	neither(_metadata, error, "tracepoint 65535");
}

TEST(hardware_out_of_range)
{
	require(REQUIRE_CPU_PMU);
	must_plain();
	neither(_metadata, open_event(PERF_TYPE_HARDWARE, 1000), "hardware event 1000");
}

TEST(cache_out_of_range)
{
	require(REQUIRE_CPU_PMU);
	must_plain();
	neither(_metadata, open_event(PERF_TYPE_HW_CACHE, 0xff), "cache level 255");
	neither(_metadata, open_event(PERF_TYPE_HW_CACHE, 0xff00), "cache operation 255");
	neither(_metadata, open_event(PERF_TYPE_HW_CACHE, 0xff0000), "cache result 255");
}

PROBE_MAIN
