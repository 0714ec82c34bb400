/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does each PMU type in sysfs belong to a PMU of the kernel?
 *
 * A dynamic PMU can be reached by its type only; the oldest PMUs have fixed types. Observed with
 * the system call: a type that no PMU has is ENOENT, so every other answer comes from the PMU of
 * that type. pmu.sysfs asks what else sysfs says about PMUs.
 */
#include "probe.h"
#include "finding.h"

#define FIXED(X) X(software, 1) X(tracepoint, 2) X(breakpoint, 5)
#define DYNAMIC(X) X(kprobe, "4.17") X(uprobe, "4.17") X(msr, "4.3") X(power, "3.14")
#define DECLARE_FIXED(name, number)                                                            \
	POINT(name, "PMU " #name " has the type " #number ", and it is the system call's")
#define DECLARE_DYNAMIC(name, since)                                                           \
	POINT(name, "PMU " #name " is here, and the system call knows its type") SINCE(since)

PROBE(TITLE("the types of PMUs")
      SINCE("2.6.38")
      FIXED(DECLARE_FIXED)
      DYNAMIC(DECLARE_DYNAMIC))

static int answer_of_type(uint32_t type)
{
	struct perf_event_attr attr = attr_of(type, 0);

	return try_open(&attr);
}

/* `want` is negative for a PMU whose type differs from boot to boot. */
static void has_type(const char *name, int want)
{
	int type = pm_pmu_type(name), answer;

	if (type == -ENOENT)
		say_absent("no PMU named %s", name);
	if (type < 0)
		say_broken("%s: type unreadable: %s", name, pm_errno_name(type));
	if (type != want && want >= 0)
		say_broken("%s has type %d want=%d", name, type, want);
	must_open_plain();
	answer = answer_of_type(0x7fffff00);
	if (answer != -ENOENT)
		say_broken("type 0x7fffff00: %s want=ENOENT", pm_errno_name(answer));
	answer = answer_of_type(type);
	if (answer == -ENOENT)
		say_broken("%s has type %d in sysfs, but the system call knows none", name, type);
}

#define TEST_FIXED(name, number)                                                               \
	TEST(name)                                                                             \
	{                                                                                      \
		has_type(#name, number);                                                       \
	}
#define TEST_DYNAMIC(name, since) TEST_FIXED(name, -1)
FIXED(TEST_FIXED)
DYNAMIC(TEST_DYNAMIC)

PROBE_MAIN
