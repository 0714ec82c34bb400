/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words that end a test with a verdict. They work in the test's own thread only, wherever they
 * are said: in the test, in a function it calls, in its fixture's set-up. Threads and children that
 * say one are aborted, which is no verdict.
 */
#ifndef SAY_H
#define SAY_H

#include <stdnoreturn.h>

#include "verdict.h"

/* End the test: the kernel refuses it, proven by a pair of calls. */
noreturn void say_no(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* End the test: policy is in the way. */
noreturn void say_blocked(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* End the test: it is not on this machine. */
noreturn void say_absent(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* End the test: accepted, but the effect is wrong. The text is the evidence. */
noreturn void say_broken(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* End the test: nothing was learned. */
noreturn void say_unknown(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What a test can require. */
enum require {
	REQUIRE_PERF = 1 << 0,		/* the system call is there and not filtered */
	REQUIRE_CPU2 = 1 << 1,		/* two CPUs this thread may run on */
	REQUIRE_TRACEFS = 1 << 2,	/* tracefs mounted and readable */
	REQUIRE_PERFMON = 1 << 3,	/* CAP_PERFMON or CAP_SYS_ADMIN */
	REQUIRE_ROOT = 1 << 4,		/* effective uid 0 with CAP_SYS_ADMIN */
	REQUIRE_CPU_PMU = 1 << 5,	/* a hardware PMU of the core */
	REQUIRE_BREAKPOINT = 1 << 6,	/* a breakpoint PMU */
};
/* End the test as absent or blocked unless all REQUIRE_* are there. Names everything missing. */
void require(unsigned int what);

#endif
