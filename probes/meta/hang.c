/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: a test that hangs. The harness ends it after its time-out.
 */
#include "probe.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 1

PROBE(TITLE("a probe that hangs")
      SINCE("2.6.31")
      POINT(hangs, "never")
      POINT(after, "the next test runs"))

TEST(hangs)
{
	for (;;)
		pause();
}

TEST(after)
{
}

PROBE_MAIN
