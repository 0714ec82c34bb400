/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: one whose kernel panics, on purpose. It shows that whoever runs a
 * suite in guests says so, with the last words of the guest, and goes on with the next probe.
 *
 * It does so in a guest alone that was started to be thrown away: with leave for hazards, and with
 * the token on the command line of the kernel that our own launcher of guests puts there.
 */
#include "probe.h"
#include "guest.h"
#include "privilege.h"

PROBE(TITLE("a probe that panics its guest")
      SINCE("2.6.31")
      NEEDS("root")
      HAZARD("panics the kernel, in guests that are thrown away")
      POINT(panics, "never")
      POINT(never_reached, "never: nothing comes after a panic"))

TEST(panics)
{
	require_test_guest();
	if (write_file("/proc/sysrq-trigger", "c") < 0)
		say_absent("no /proc/sysrq-trigger to be written");
	say_unknown("the kernel was told to crash, and did not");
}

TEST(never_reached)
{
	require_test_guest();
	say_unknown("the test before should have ended this guest");
}

PROBE_MAIN
