/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of the house itself: one after which nothing moves any more, as in a kernel that hangs.
 * Every task is stopped, the launcher with its clock, the runner, and those that would report.
 * Only who watches the guest from outside can tell, by its silence. See meta.panic.
 */
#include <signal.h>

#include "probe.h"
#include "guest.h"

PROBE(TITLE("a probe that freezes its guest")
      SINCE("2.6.31")
      NEEDS("root")
      HAZARD("stops every task, in guests that are thrown away")
      POINT(freezes, "never"))

TEST(freezes)
{
	require_test_guest();
	if (kill(-1, SIGSTOP) < 0)
		say_unknown("kill: %s", pm_errno_name(errno));
	for (;;)
		pause();
}

PROBE_MAIN
