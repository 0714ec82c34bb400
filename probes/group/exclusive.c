/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do attr.exclusive and attr.pinned do to a group? Software events can always run, so both
 * must be harmless there; an exclusive hardware group must have the counters for itself.
 * Observed: exact page-fault counts; for hardware, the running times of an exclusive event and of
 * another one never add up to more than the time both were enabled.
 */
#include "probe.h"

PROBE(TITLE("exclusive and pinned groups")
      SINCE("2.6.31")
      POINT(exclusive_software, "an exclusive software event counts exactly")
      POINT(pinned_software, "a pinned software event counts exactly, and is no end of file")
      POINT(both_software, "exclusive and pinned together count exactly, with a sibling")
      POINT(beside_others, "other software events count beside an exclusive one")
      POINT(alone, "an exclusive hardware event never runs together with another")
      NEEDS("pmu"))

#define FAULTS 9
#define FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static void count(struct __test_metadata *_metadata, bool exclusive, bool pinned)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int leader, sibling, outsider;
	uint64_t before[2], gain;

	attr.disabled = 0;
	outsider = must_open(&attr, 0, -1, -1, 0);
	attr.exclusive = exclusive;
	attr.pinned = pinned;
	leader = must_open(&attr, 0, -1, -1, 0);
	attr.exclusive = attr.pinned = 0;
	sibling = must_open(&attr, 0, -1, leader, 0);
	ASSERT_EQ(0, cause_faults(1));
	before[0] = must_count(sibling);
	before[1] = must_count(outsider);
	gain = gain_of_faults(leader, NULL, FAULTS);
	before[0] = must_count(sibling) - before[0];
	before[1] = must_count(outsider) - before[1];
	/* One fault more for those two: the warm-up of the measured deed. */
	if (gain != FAULTS || before[0] != FAULTS + 1 || before[1] != FAULTS + 1)
		broken("leader=%" PRIu64 " want=%d, sibling=%" PRIu64 " other=%" PRIu64 " want=%d",
		       gain, FAULTS, before[0], before[1], FAULTS + 1);
}

TEST(exclusive_software)
{
	count(_metadata, true, false);
}

TEST(pinned_software)
{
	count(_metadata, false, true);
}

TEST(both_software)
{
	count(_metadata, true, true);
}

TEST(beside_others)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t gain;
	int fd;

	attr.disabled = 0;
	attr.exclusive = 1;
	must_open(&attr, 0, -1, -1, 0);
	attr.exclusive = 0;
	fd = must_open(&attr, 0, -1, -1, 0);	/* opened after it, too */
	gain = gain_of_faults(fd, NULL, FAULTS);
	if (gain != FAULTS)
		broken("counted=%" PRIu64 " want=%d", gain, FAULTS);
}

TEST(alone)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct pm_counts plain, exclusive;
	int fds[2];

	require(REQUIRE_PERF | REQUIRE_CPU_PMU);
	attr.read_format = FORMAT;
	fds[0] = must_open(&attr, 0, -1, -1, 0);
	attr.exclusive = 1;
	fds[1] = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(fds[1], PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(40000000);
	must_ioctl(fds[1], PERF_EVENT_IOC_DISABLE, 0);
	must_ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, pm_read_counts(fds[0], FORMAT, &plain));
	ASSERT_EQ(0, pm_read_counts(fds[1], FORMAT, &exclusive));
	if (!plain.time_running && !exclusive.time_running)
		cannot_tell("neither event ever ran");
	if (plain.time_running + exclusive.time_running > plain.time_enabled)
		broken("plain ran %" PRIu64 " ns and exclusive %" PRIu64 " ns of %" PRIu64,
		       plain.time_running, exclusive.time_running, plain.time_enabled);
}

PROBE_MAIN
