/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may trace every function of the kernel, and with what?
 *
 * The function tracepoint fires everywhere in the kernel, so it has gates of its own: it needs
 * rights that a tracepoint of one's own task does not need, and it takes no user call chains, whose
 * page faults would be traced themselves.
 * Observed: the answers of opens, each beside one that is accepted.
 * Linux cfa77bc4af2c ("perf: Disallow user-space callchains for function trace events") (v3.15)
 */
#include "probe.h"
#include "privilege.h"
#include "tracepoint.h"

PROBE(TITLE("the gates of the function tracepoint")
      SINCE("3.13")
      NEEDS("tracefs")
      POINT(unprivileged, "a task without capabilities may not open ftrace:function: EPERM")
      POINT(user_chain, "ftrace:function with user call chains is EINVAL, without them it is not")
      SINCE("3.15")
      COMMIT("cfa77bc4af2c"))

static struct perf_event_attr function_event(void)
{
	struct perf_event_attr attr;

	must_open_plain();
	attr = must_tracepoint("ftrace", "function");
	attr.sample_period = 1;
	attr.exclude_callchain_user = 1;
	return attr;
}

TEST(unprivileged)
{
	struct perf_event_attr attr = function_event();
	int answer;

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

TEST(user_chain)
{
	struct perf_event_attr without = function_event(), with;
	int asked, twin;

	require(REQUIRE_PERFMON);
	without.sample_type = PERF_SAMPLE_CALLCHAIN;
	with = without;
	with.exclude_callchain_user = 0;
	asked = pm_open(&with, 0, -1, -1, 0);
	twin = pm_open(&without, 0, -1, -1, 0);
	/* Functions may not be traced here at all; that is found out behind the rule. */
	if (asked == -EINVAL && twin < 0 && twin != -EINVAL)
		return;
	close(twin >= 0 ? twin : must_open(&without, 0, -1, -1, 0));
	expect_refused(asked, EINVAL, NO, "user call chains of functions");
}

PROBE_MAIN
