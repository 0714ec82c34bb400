/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: its plan does not fit its results. None of them can be believed.
 */
#include "probe.h"

PROBE(TITLE("a lying plan") SINCE("2.6.31") POINT(lies, "never"))

TEST(lies)
{
	static const char more[] = "ok 2 global.unplanned\n";

	ASSERT_EQ(sizeof(more) - 1, write(STDOUT_FILENO, more, sizeof(more) - 1));
}

PROBE_MAIN
