/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may trace every function of the kernel? The function tracepoint fires everywhere there, so it
 * needs rights that a tracepoint of one's own task does not need. An event that is accepted has
 * each function of the kernel patched, so this probe opens none.
 * Observed: the answer to a task without capabilities, beside a plain event's.
 */
#include "probe.h"
#include "privilege.h"
#include "tracepoint.h"

PROBE(TITLE("rights to the function tracepoint")
      SINCE("3.13")
      NEEDS("tracefs")
      POINT(unprivileged, "a task without capabilities may not open ftrace:function: EPERM"))

TEST(unprivileged)
{
	struct perf_event_attr attr;
	int answer;

	must_open_plain();
	attr = must_tracepoint("ftrace", "function");
	attr.sample_period = 1;
	attr.exclude_callchain_user = 1;
	if (!probe_env()->paranoid_present || probe_env()->paranoid == INT32_MIN)
		say_unknown("perf_event_paranoid cannot be read");
	if (probe_env()->paranoid < 0)
		say_absent("at level %d tracepoints need no capability", probe_env()->paranoid);
	if (drop_to(0) < 0)
		say_unknown("capabilities cannot be dropped");
	must_open_plain();
	attr.sample_type = PERF_SAMPLE_IP;
	answer = pm_open(&attr, 0, -1, -1, 0);
	if (answer == -EINVAL || answer == -E2BIG)
		say_unknown("the function tracepoint: %s, before anybody asks for permission",
			    pm_errno_name(answer));
	expect_refused(answer, EPERM, BROKEN, "the function tracepoint");
}

PROBE_MAIN
