/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: it says ok and exits 1. One of the two is untrue.
 */
#include "probe.h"

PROBE(TITLE("ok, but exit status 1") SINCE("2.6.31") POINT(says_ok, "never"))

static pid_t program;

static void fail_late(void)
{
	fflush(stdout);
	if (getpid() == program)
		_exit(1);
}

static void __attribute__((constructor)) arrange(void)
{
	program = getpid();
	atexit(fail_late);
}

TEST(says_ok)
{
}

PROBE_MAIN
