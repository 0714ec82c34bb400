/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: endless output. It is cut off, and what is cut off is unknown.
 */
#include "probe.h"

PROBE(TITLE("a probe that never stops talking") SINCE("2.6.31") POINT(floods, "never"))

TEST(floods)
{
	char line[4096];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	while (write(STDOUT_FILENO, line, sizeof(line)) > 0)
		;
}

PROBE_MAIN
