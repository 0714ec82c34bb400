/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often does a PMU rotate its counters among the events that share them?
 *
 * With more events than counters each event counts part of the time, and the interval decides how
 * short a phase of a program is still seen. Each PMU has the file, even that of the software
 * events, which share no counters. proc.mux_interval_set asks who may set it.
 */
#include "probe.h"

#include <stdio.h>

PROBE(TITLE("the interval of multiplexing")
      SINCE("3.11")
      COMMIT("62b856397927")
      POINT(readable, "a PMU shows an interval of at least 1 ms")
      FACT(interval, int, "ms", "perf_event_mux_interval_ms")
      FACT(pmu, string, "-", "the PMU asked: the core's, or software where there is none")
      POINT(all, "the interval of each PMU is a number, and where it is 0, no turns are taken"))

#define DEVICES "/sys/bus/event_source/devices"

static int64_t interval_of(char *path, size_t size)
{
	char name[64];
	int64_t value;
	int error;

	if (pm_pmu_core(name, sizeof(name)) < 0)
		strcpy(name, "software");
	fact_str("pmu", "%s", name);
	snprintf(path, size, DEVICES "/%s/perf_event_mux_interval_ms", name);
	error = pm_read_number(path, &value);
	if (error == -ENOENT)
		say_absent("no perf_event_mux_interval_ms of PMU %s", name);
	if (error)
		say_broken("no number: %s", pm_errno_name(error));
	if (value == 0 && !strcmp(name, "software"))	/* before v6.2 these took no turns */
		say_absent("interval 0: the events of PMU %s take no turns", name);
	return value;
}

TEST(readable)
{
	char path[160];
	int64_t value = interval_of(path, sizeof(path));

	fact_int("interval", value);
	if (value < 1)
		say_broken("interval=%" PRId64 " want>=1", value);
}

static int look(const char *pmu, void *context)
{
	char path[160];
	int64_t value;
	int *seen = context, error;

	snprintf(path, sizeof(path), DEVICES "/%.64s/perf_event_mux_interval_ms", pmu);
	error = pm_read_number(path, &value);
	if (error == -ENOENT)
		return 0;
	++*seen;
	return error || value < 0 ? -EINVAL : 0;
}

TEST(all)
{
	int seen = 0, error = pm_pmu_each(look, &seen);

	if (error == -EINVAL)
		say_broken("PMU %d with an interval shows no number", seen);
	if (error < 0)
		say_blocked("%s: " DEVICES " is not to be seen here", pm_errno_name(error));
	if (!seen)
		say_absent("no PMU here has an interval");
}

PROBE_MAIN
