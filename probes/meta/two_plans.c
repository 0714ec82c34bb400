/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: it plans twice. None of its results can be believed.
 */
#include "probe.h"

PROBE(TITLE("two plans") SINCE("2.6.31") POINT(plans, "never"))

TEST(plans)
{
	ASSERT_EQ(5, write(STDOUT_FILENO, "1..1\n", 5));
}

PROBE_MAIN
