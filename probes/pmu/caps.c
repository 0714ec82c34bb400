/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the capabilities that sysfs tells of the core's PMU hold? Tools read caps/max_precise rather
 * than trying every level.
 * Observed: sampling cycles at the level that max_precise names, and at the next one.
 */
#include "probe.h"
#include "core_pmu.h"
#include "finding.h"
#include <stdio.h>

PROBE(TITLE("capabilities of the core's PMU in sysfs")
      SINCE("5.0")
      NEEDS("pmu")
      POINT(max_precise, "precise_ip is taken up to caps/max_precise, and not beyond")
      FACT(max_precise_level, int, "-", "what caps/max_precise says"))

static int try_level(unsigned int level)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_CPU_CYCLES);

	attr.sample_period = 1000000;
	attr.precise_ip = level;
	return try_open(&attr);
}

TEST(max_precise)
{
	char name[64], path[160];
	int64_t level;
	int error;

	must_name_core(name, sizeof(name));
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/caps/max_precise", name);
	error = pm_read_number(path, &level);
	if (error == -ENOENT)
		say_absent("%s has no caps/max_precise", name);
	if (error || level < 0 || level > 3)
		say_unknown("%s: %s", path, error ? pm_errno_name(error) : "no level");
	fact_int("max_precise_level", level);
	error = try_level(0);
	if (error == -EOPNOTSUPP || error == -EINVAL)
		say_absent("a PMU that samples (%s)", pm_errno_name(error));
	if (error)
		say_unknown("sampling cycles: %s", pm_errno_name(error));
	error = try_level(level);
	if (error)
		say_broken("precise_ip=%" PRId64 ": %s", level, pm_errno_name(error));
	if (level < 3 && !try_level(level + 1))
		say_broken("precise_ip=%" PRId64 " is taken, max_precise=%" PRId64, level + 1,
			   level);
}

PROBE_MAIN
