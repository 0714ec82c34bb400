/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does sysfs name the PMUs so that a tool can use them? Types above 5 are handed out at boot and
 * have to be looked up. Observed: every PMU there has a type of its own, every cpumask is a list of
 * CPUs, and a type of nobody is refused.
 */
#include "probe.h"
#include "pmu.h"
#include <stdio.h>

PROBE(TITLE("PMUs as sysfs lists them")
      SINCE("2.6.38")
      POINT(listed, "the software PMU is listed with type 1")
      POINT(types, "each PMU has a type, and no two the same")
      POINT(cpumasks, "each cpumask is a list of CPUs")
      POINT(unused_type, "a type that no PMU has is refused with ENOENT or EINVAL")
      FACT(pmus, string, "-", "the PMUs with their types"))

#define DEVICES "/sys/bus/event_source/devices"

static char wrong[256];

static char list[700];
static int seen[256], type_count;

static int note_type(const char *name, void *unused)
{
	int type = pm_pmu_type(name);

	(void)unused;
	snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%.40s=%d",
		 list[0] ? " " : "", name, type);
	for (int i = 0; i < type_count; i++)
		if (seen[i] == type)
			snprintf(wrong, sizeof(wrong), "type %d twice", type);
	if (type < 0)
		snprintf(wrong, sizeof(wrong), "%.40s: type: %s", name, pm_errno_name(type));
	if (type_count < 256)
		seen[type_count++] = type;
	return 0;
}

static int visit_cpumask(const char *pmu, void *masks)
{
	char path[256], text[1024];

	snprintf(path, sizeof(path), DEVICES "/%.60s/cpumask", pmu);
	if (pm_read_text(path, text, sizeof(text)) <= 0)
		return 0;
	++*(int *)masks;
	if (pm_cpulist_each(text, NULL, NULL) < 1)
		snprintf(wrong, sizeof(wrong), "%.40s/cpumask: %.80s", pmu, text);
	return 0;
}

static void visit(int (*each)(const char *, void *), void *context)
{
	visit_pmus(each, context);
	if (wrong[0])
		say_broken("%s", wrong);
}

TEST(listed)
{
	visit(note_type, NULL);
	if (pm_pmu_type("software") != PERF_TYPE_SOFTWARE)
		say_broken("type of software=%d want=1", pm_pmu_type("software"));
}

TEST(types)
{
	visit(note_type, NULL);
	fact_str("pmus", "%s", list);
}

TEST(cpumasks)
{
	int masks = 0;

	visit(visit_cpumask, &masks);
	if (!masks)
		say_absent("no PMU here has a cpumask");
}

TEST(unused_type)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.type = 0x7ffffffe;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		say_broken("type 0x7ffffffe is accepted");
	if (fd != -ENOENT && fd != -EINVAL)
		say_broken("errno=%s want=ENOENT or EINVAL", pm_errno_name(fd));
}

PROBE_MAIN
