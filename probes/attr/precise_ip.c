/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which demands on the precision of a sample's instruction address are accepted?
 *
 * Software events have no skid and take every level; a PMU refuses what it cannot do with
 * EOPNOTSUPP (or EINVAL), and a library steps down from 3 until one is taken.
 */
#include "probe.h"

PROBE(TITLE("precise_ip")
      SINCE("2.6.35")
      POINT(software_1, "a software event takes precise_ip 1")
      POINT(software_2, "a software event takes precise_ip 2")
      POINT(software_3, "a software event takes precise_ip 3")
      POINT(core_1, "sampling cycles takes precise_ip 1")
      NEEDS("pmu")
      POINT(core_2, "sampling cycles takes precise_ip 2")
      NEEDS("pmu")
      POINT(core_3, "sampling cycles takes precise_ip 3")
      NEEDS("pmu"))

static void software(unsigned int level)
{
	struct perf_event_attr plain = attr_faults(PERF_SAMPLE_IP), attr = plain;

	attr.precise_ip = level;
	close(ask_open(&attr, &plain, 0, -1, "precise_ip"));
}

static void core(unsigned int level)
{
	struct perf_event_attr plain = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), attr;

	require(REQUIRE_CPU_PMU);
	plain.sample_period = 1000000;
	attr = plain;
	attr.precise_ip = level;
	close(ask_open(&attr, &plain, 0, -1, "precise_ip"));
}

TEST(software_1)
{
	software(1);
}

TEST(software_2)
{
	software(2);
}

TEST(software_3)
{
	software(3);
}

TEST(core_1)
{
	core(1);
}

TEST(core_2)
{
	core(2);
}

TEST(core_3)
{
	core(3);
}

PROBE_MAIN
