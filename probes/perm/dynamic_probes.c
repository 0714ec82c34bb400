/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may create kernel and user probes?
 *
 * Each kind lets a task look into the kernel or into other users' programs, so each has a
 * permission check besides the paranoid level. The check comes before the request is examined. All
 * requests here are impossible ones, so no probe is ever created: with permission, the answer is
 * another errno.
 */
#include "probe.h"
#include "privilege.h"

PROBE(TITLE("the gates of dynamic probes")
      SINCE("4.17")
      POINT(kprobe, "a kernel probe without capabilities is EACCES")
      NEEDS("kprobe")
      POINT(uprobe, "a user probe without capabilities is EACCES")
      NEEDS("uprobe")
      FACT(uprobe_with_perfmon, enum, "-", "errno of an impossible user probe, CAP_PERFMON alone"))

static int must_have(const char *pmu)
{
	int type = pm_pmu_type(pmu);

	must_open_plain();
	if (type < 0)
		say_absent("no PMU named %s", pmu);
	return type;
}

/* The probe's name is a null pointer: a request that nobody can get. */
static int plant(int type)
{
	struct perf_event_attr attr = attr_of(type, 0);

	return pm_open(&attr, 0, -1, -1, 0);
}

TEST(kprobe)
{
	int type = must_have("kprobe");

	ASSERT_EQ(0, drop_to(0));
	expect_refused(plant(type), EACCES, BROKEN, "a kernel probe");
}

TEST(uprobe)
{
	int type = must_have("uprobe");

	if (pm_env_has_cap(probe_env(), PM_CAP_PERFMON)) {
		ASSERT_EQ(0, drop_to(1ull << PM_CAP_PERFMON));
		fact_str("uprobe_with_perfmon", "%s", pm_errno_name(plant(type)));
	}
	ASSERT_EQ(0, drop_to(0));
	expect_refused(plant(type), EACCES, BROKEN, "a user probe");
}

PROBE_MAIN
