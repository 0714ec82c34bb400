/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: our own code crashes. One test dies, the next still answers; the
 * crash is booked against nobody.
 */
#include "probe.h"

PROBE(TITLE("a probe that crashes")
      SINCE("2.6.31")
      POINT(dies, "never")
      POINT(survives, "the next test runs"))

TEST(dies)
{
	raise(SIGSEGV);
}

TEST(survives)
{
}

PROBE_MAIN
