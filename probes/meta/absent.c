/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: something is not on this machine. Set-up says so, and the test
 * body must not run after it.
 */
#include "probe.h"

PROBE(TITLE("a thing that is not here") SINCE("2.6.31") POINT(absent, "never"))

FIXTURE(nowhere)
{
	int unused;
};

FIXTURE_SETUP(nowhere)
{
	say_absent("no such thing on this machine");
}

FIXTURE_TEARDOWN(nowhere)
{
}

TEST_F(nowhere, absent)
{
	say_broken("the test ran although its set-up had ended it");
}

PROBE_MAIN
