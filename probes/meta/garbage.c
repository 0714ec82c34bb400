/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: it writes what is no KTAP: control characters, invalid UTF-8, a NUL,
 * a terminal escape, half a result line. It cannot be believed, and must not reach a terminal raw.
 */
#include "probe.h"

PROBE(TITLE("a probe that writes garbage") SINCE("2.6.31") POINT(writes, "never"))

TEST(writes)
{
	static const char junk[] = "\xff\xfe not text \x1b[2J\x1b]0;title\x07 \0 \r\b\n"
				   "ok of no number\nnot okay\n#:perfmodes: \xc3\x28=\n";

	ASSERT_EQ(sizeof(junk), write(STDOUT_FILENO, junk, sizeof(junk)));
}

PROBE_MAIN
