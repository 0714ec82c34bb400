/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: accepted, but the effect is wrong; with evidence. The second test
 * fails without evidence, which is nobody's fault but ours: unknown.
 */
#include "probe.h"

PROBE(TITLE("an effect that is wrong")
      SINCE("2.6.31")
      POINT(evidence, "never")
      POINT(assertion, "never"))

TEST(evidence)
{
	say_broken("counted=3 want=9");
}

TEST(assertion)
{
	ASSERT_EQ(1, 2);
}

PROBE_MAIN
