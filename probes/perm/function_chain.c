/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are user call chains refused to the function tracepoint? Their page faults would be traced
 * themselves. The event beside it, which is accepted, has each function of the kernel patched, and
 * patched back: milliseconds on a machine, seconds in an emulator.
 * Observed: the answers of two opens.
 * Linux cfa77bc4af2c ("perf: Disallow user-space callchains for function trace events") (v3.15)
 */
#include "probe.h"
#include "tracepoint.h"

PROBE(TITLE("user call chains of the function tracepoint")
      SINCE("3.15")
      COMMIT("cfa77bc4af2c")
      NEEDS("tracefs")
      DISTURBS("each function of the kernel is patched for a moment")
      POINT(refused, "ftrace:function with user call chains is EINVAL, without them it is not"))

/* Patching takes seconds in an emulator, and many of them on a busy host. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 50

TEST(refused)
{
	struct perf_event_attr without, with;
	int asked, twin;

	must_open_plain();
	require(REQUIRE_PERFMON);
	without = must_tracepoint("ftrace", "function");
	without.sample_period = 1;
	without.sample_type = PERF_SAMPLE_CALLCHAIN;
	without.exclude_callchain_user = 1;
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
