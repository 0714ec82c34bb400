/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: it leaves a process behind, in a session of its own and holding
 * the output pipe. The answer stands, the process does not.
 */
#include "probe.h"

PROBE(TITLE("a probe that leaves a daemon") SINCE("2.6.31") POINT(leaves, "the answer is kept"))

TEST(leaves)
{
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			for (;;)
				pause();
		_exit(0);
	}
}

PROBE_MAIN
