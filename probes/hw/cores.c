/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machines with different cores have a PMU for each kind, and a generic event lands on one of them;
 * config[63:32] chooses. Observed: the PMU named in the upper half counts, and numbers that are no
 * core PMU's are refused.
 * Linux 55bcf6ef314a ("perf: Extend PERF_TYPE_HARDWARE and PERF_TYPE_HW_CACHE") (v5.13)
 */
#include "probe.h"
#include "core_pmu.h"
#include "cores.h"
#include <stdio.h>

PROBE(TITLE("a generic event of a named PMU")
      SINCE("5.13")
      COMMIT("55bcf6ef314a")
      NEEDS("pmu")
      POINT(named_pmu, "an event with the core PMU's type in config[63:32] opens and counts")
      POINT(unknown_pmu, "a type in config[63:32] that no PMU has is refused")
      POINT(software_pmu, "the software type in config[63:32] is refused"))

static uint64_t core_type(void)
{
	char name[64];

	must_name_core(name, sizeof(name));
	return pm_pmu_type(name);
}

TEST(named_pmu)
{
	struct perf_event_attr plain = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr named = plain;
	int fd;

	named.config |= core_type() << PERF_PMU_TYPE_SHIFT;
	fd = ask_open(&named, &plain, 0, -1, "a PMU type in config[63:32]");
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (count_loop(fd))
		return;
	must_have_run();
	say_broken("opens but counts 0");
}

static void refuse(uint64_t type)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	core_type();
	attr.config |= type << PERF_PMU_TYPE_SHIFT;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		say_broken("type %" PRIu64 " in config[63:32] is accepted", type);
	if (fd != -ENOENT && fd != -EINVAL)
		say_broken("errno=%s want=ENOENT or EINVAL", pm_errno_name(fd));
}

TEST(unknown_pmu)
{
	refuse(0x7fffff);
}

TEST(software_pmu)
{
	refuse(PERF_TYPE_SOFTWARE);
}

PROBE_MAIN
