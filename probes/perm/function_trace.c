/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may trace every function of the kernel, and with what?
 *
 * The function tracepoint fires everywhere in the kernel, so it has gates of its own: rights that
 * a tracepoint of one's own task does not need, and no user call chains, which could fault.
 */
#include "probe.h"
#include "privilege.h"

PROBE(TITLE("the gates of the function tracepoint")
      SINCE("3.13")
      NEEDS("tracefs")
      POINT(unprivileged, "the function tracepoint without capabilities is EPERM")
      POINT(user_chain, "the function tracepoint with user call chains is EINVAL"))

static struct perf_event_attr function_event(void)
{
	struct perf_event_attr attr;
	int id;

	must_open_plain();
	require(REQUIRE_TRACEFS);
	id = pm_tracepoint_id("ftrace", "function");
	if (id < 0)
		say_absent("no tracepoint ftrace:function");
	attr = attr_of(PERF_TYPE_TRACEPOINT, id);
	attr.sample_period = 1;
	attr.exclude_callchain_user = 1;
	return attr;
}

TEST(unprivileged)
{
	struct perf_event_attr attr = function_event();

	if (probe_env()->paranoid < 0)
		say_absent("at this level tracepoints need no capability");
	ASSERT_EQ(0, drop_to(0));
	attr.sample_type = PERF_SAMPLE_IP;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EPERM, BROKEN, "the function tracepoint");
}

TEST(user_chain)
{
	struct perf_event_attr attr = function_event();

	require(REQUIRE_PERFMON);
	attr.exclude_callchain_user = 0;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN,
		       "user call chains of functions");
}

PROBE_MAIN
