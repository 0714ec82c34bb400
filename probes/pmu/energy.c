/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the energy that a machine takes come with a unit? A power event counts in fractions of a
 * Joule that sysfs tells. Observed: the event's scale and unit, and that it never goes back.
 */
#include "probe.h"
#include "pmu.h"
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("energy counters")
      SINCE("3.14")
      NEEDS("pmu")
      POINT(has_unit, "a power event has a scale and a unit")
      POINT(goes_on, "it does not go back")
      FACT(unit, string, "-", "unit and scale of the energy event"))

#define POWER "/sys/bus/event_source/devices/power"

/* What a file of an event says, or nothing. */
static void read_event(const char *name, const char *suffix, char *text, size_t size)
{
	char path[160];

	text[0] = '\0';
	snprintf(path, sizeof(path), POWER "/events/%s%s", name, suffix);
	pm_read_text(path, text, size);
}

/* The first energy event that sysfs names, and that name. */
static struct perf_event_attr energy(const char **name)
{
	static const char *const names[] = { "energy-pkg", "energy-cores", "energy-psys" };
	struct perf_event_attr attr = must_pmu("power");
	char text[64];

	attr.exclude_kernel = attr.exclude_hv = 0;
	attr.disabled = 0;
	for (int i = 0; i < 3; i++) {
		read_event(names[i], "", text, sizeof(text));
		if (strncmp(text, "event=", 6))
			continue;
		attr.config = strtoull(text + 6, NULL, 0);
		*name = names[i];
		return attr;
	}
	say_absent("the power PMU names none of its events");
}

TEST(has_unit)
{
	char unit[32], scale[64];
	const char *name;

	energy(&name);
	read_event(name, ".unit", unit, sizeof(unit));
	read_event(name, ".scale", scale, sizeof(scale));
	if (!scale[0] || !unit[0])
		say_broken("scale=%s unit=%s", scale, unit);
	fact_str("unit", "%s x %s", unit, scale);
}

static void take_first(unsigned int cpu, void *first)
{
	if (*(int *)first < 0)
		*(int *)first = cpu;
}

TEST(goes_on)
{
	const char *name;
	struct perf_event_attr attr = energy(&name);
	char mask[1024] = "";
	int cpu = -1, fd;
	uint64_t before;

	pm_read_text(POWER "/cpumask", mask, sizeof(mask));
	pm_cpulist_each(mask, take_first, &cpu);
	if (cpu < 0)
		say_absent("the power PMU has no cpumask");
	fd = must_open(&attr, -1, cpu, -1, 0);
	before = must_count(fd);
	spin_ns(5000000);
	if (must_count(fd) < before)
		say_broken("the energy went back");
}

PROBE_MAIN
