/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: the program dies before it answers its last question. What was
 * answered stands, the rest is unknown.
 */
#include "probe.h"

PROBE(TITLE("a probe whose harness crashes")
      SINCE("2.6.31")
      POINT(first, "answered before the end")
      POINT(second, "never"))

TEST(first)
{
}

TEST(second)
{
	kill(getppid(), SIGKILL);
}

PROBE_MAIN
