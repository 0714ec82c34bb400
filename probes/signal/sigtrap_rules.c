/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which events may not raise SIGTRAP? Those that would live on in a program that knows nothing of
 * it, and those of a whole CPU, whose samples belong to anybody.
 * Observed: the same event is accepted without that fault before each refusal.
 * Linux commit 97ba62b27867 ("perf: Add support for SIGTRAP on perf events") (v5.13)
 */
#include "probe.h"

PROBE(TITLE("events that may not raise SIGTRAP")
      SINCE("5.13")
      COMMIT("97ba62b27867")
      POINT(needs_remove_on_exec, "EINVAL for sigtrap without remove_on_exec")
      POINT(needs_a_task, "EINVAL for sigtrap on a whole CPU"))

/* An attr with sigtrap that is accepted for this task; `plain` gets its twin without. */
static struct perf_event_attr accepted(struct __test_metadata *_metadata,
				       struct perf_event_attr *plain)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);

	*plain = attr;
	attr.remove_on_exec = attr.sigtrap = 1;
	attr.sig_data = 1;
	close(ask_open(&attr, plain, 0, -1, "sigtrap"));
	return attr;
}

TEST(needs_remove_on_exec)
{
	struct perf_event_attr plain, attr = accepted(_metadata, &plain);

	attr.remove_on_exec = 0;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "sigtrap without remove_on_exec");
}

TEST(needs_a_task)
{
	struct perf_event_attr plain, attr = accepted(_metadata, &plain);

	close(must_open(&plain, -1, 0, -1, 0));
	hold_rule(pm_open(&attr, -1, 0, -1, 0), EINVAL, BROKEN, "sigtrap on a whole CPU");
}

PROBE_MAIN
