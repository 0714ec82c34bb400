/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: policy is in the way. The reason names the gate.
 */
#include "probe.h"

PROBE(TITLE("policy in the way") SINCE("2.6.31") POINT(blocked, "never"))

TEST(blocked)
{
	say_blocked("perf_event_paranoid=9 refuses this very probe; needs <= 8");
}

PROBE_MAIN
