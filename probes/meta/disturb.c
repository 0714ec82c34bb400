/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: it declares that it changes the machine, so it needs leave.
 */
#include "probe.h"

PROBE(TITLE("a disturbance that needs leave")
      SINCE("2.6.31")
      DISTURBS("the peace of this machine")
      POINT(disturbs, "it was allowed to run"))

TEST(disturbs)
{
}

PROBE_MAIN
