/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: a declared hazard. It must never get to run by default.
 */
#include "probe.h"

PROBE(TITLE("a hazard that is never run")
      SINCE("2.6.31")
      HAZARD("would end the machine")
      POINT(dangerous, "it was allowed to run"))

TEST(dangerous)
{
}

PROBE_MAIN
