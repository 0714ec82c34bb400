/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe whose verdict is said by somebody else than the test: a thread of it, or a child. Neither
 * may end the test, and what they say is no verdict of the kernel's.
 */
#include "probe.h"

PROBE(TITLE("house: a verdict said by a thread or a child")
      SINCE("2.6.31")
      POINT(thread, "never: a thread that says a verdict aborts the test")
      POINT(child, "the test goes on and sees that its child was aborted"))

static void *say_in_thread(void *unused)
{
	say_broken("said by a thread");
	return unused;
}

static int say_in_child(void *unused)
{
	say_broken("said by a child");
	return 0;
}

TEST(thread)
{
	run_in_thread(say_in_thread, NULL);
}

TEST(child)
{
	int status = wait_child(start_child(say_in_child, NULL));

	if (status != 128 + SIGABRT)
		say_unknown("status=%d want=%d", status, 128 + SIGABRT);
}

PROBE_MAIN
