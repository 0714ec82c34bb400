/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does kernel lockdown refuse to perf?
 *
 * Lockdown in confidentiality mode refuses the registers of interrupted code, to root as well: a
 * profiler has to know that no further privilege would help.
 */
#include "probe.h"

PROBE(TITLE("perf under lockdown")
      SINCE("5.4")
      FACT(lockdown, string, "-", "none, integrity or confidentiality")
      POINT(lockdown_regs, "under lockdown for confidentiality REGS_INTR is EPERM"))

TEST(lockdown_regs)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_REGS_INTR);
	const char *lockdown = probe_env()->lockdown[0] ? probe_env()->lockdown : "unknown";

	fact_str("lockdown", "%s", lockdown);
	must_open_plain();
	attr.sample_regs_intr = 1;
	if (strcmp(lockdown, "confidentiality"))
		say_absent("no lockdown for confidentiality (%s)", lockdown);
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EPERM, BROKEN, "REGS_INTR under lockdown");
}

PROBE_MAIN
