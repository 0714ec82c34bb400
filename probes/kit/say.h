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

/* The kernel refuses it, proven by a pair of calls. */
noreturn void say_no(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Policy is in the way. */
noreturn void say_blocked(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Not on this machine. */
noreturn void say_absent(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Accepted, but the effect is wrong; the text is the evidence. */
noreturn void say_broken(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Nothing was learned. */
noreturn void say_unknown(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whichever of them it is. */
noreturn void say_as(enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
noreturn void say(const struct finding *finding);

/* End the test as absent or blocked unless all is there; names everything that is missing. */
void require(unsigned int what);

/* For probe.h: a test begins in this thread; `end` ends it. */
void test_begins(void (*end)(const struct finding *));

#endif
