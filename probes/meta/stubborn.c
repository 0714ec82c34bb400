/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: the program spins for ever and ignores SIGTERM. The launcher ends
 * it; what it had said counts.
 */
#include "probe.h"

PROBE(TITLE("a probe that ignores SIGTERM") SINCE("2.6.31") POINT(spins, "never"))

static pid_t program;

static void spin(void)
{
	if (getpid() != program)
		return;
	fflush(stdout);			/* newer harnesses have it written line by line */
	signal(SIGTERM, SIG_IGN);
	for (;;)
		;
}

static void __attribute__((constructor)) arrange(void)
{
	program = getpid();
	atexit(spin);
}

TEST(spins)
{
}

PROBE_MAIN
