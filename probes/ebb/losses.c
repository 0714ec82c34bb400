/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: is an event-based branch (EBB) lost when the counter overflows while the kernel runs,
 * while the task is switched away, or while it moves to another CPU? Early POWER8 lost some, and a
 * loss stops a sampling program for good: the counter stands still until its handler has run.
 * Observed: thousands of short periods beside system calls, switches and moves; the handler
 * accounts for each overflow.
 */
#include "probe.h"
#include "ebb.h"
#include "ebb_handler.h"

PROBE(TITLE("event-based branches that must not be lost")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(in_calls, "of up to 5000 overflows beside system calls none is lost")
      POINT(in_switches, "of up to 2000 overflows of a task that shares its CPU and yields none "
			 "is lost")
      POINT(in_moves, "of up to 2000 overflows of a task that moves from CPU to CPU none is lost")
      POINT(in_faults, "of up to 2000 overflows beside page faults none is lost")
      FACT(moves, int, "moves", "from CPU to CPU meanwhile"))

/* About the length of a system call: some overflows fall into one. */
#define SHORT 3001

/* Until all are taken, or this thread has had 200 ms of a CPU for them. */
static bool going_on(unsigned long want)
{
	static unsigned int asked;

	return branches_taken() < want && !traps_taken() &&
	       (++asked % 100 || used_ns() < 200000000);
}

/* The counter stands still until its handler has run: where one branch was lost, none comes. */
static void expect_more(void)
{
	const unsigned long before = branches_taken(), after = take_branches(before + 1);

	disarm();
	expect_branches(after, before + 1);
	if (ebb_state.overflows[0] != ebb_state.branches)
		say_broken("branches=%lu overflows found by the handler=%lu", ebb_state.branches,
			   ebb_state.overflows[0]);
	if (before < 50)
		say_unknown("%lu branches in the time for thousands", before);
}

TEST(in_calls)
{
	must_schedule();
	arm(SHORT);
	while (going_on(5000))
		getppid();
	expect_more();
}

static int yield_for_ever(void *unused)
{
	(void)unused;
	move_to_nth_cpu(0);
	for (;;)
		sched_yield();
	return 0;
}

TEST(in_switches)
{
	pid_t other;

	must_schedule();
	ASSERT_LE(0, move_to_nth_cpu(0));
	other = start_child(yield_for_ever, NULL);
	ASSERT_LT(0, other);
	arm(SHORT);
	while (going_on(2000))
		sched_yield();
	kill(other, SIGKILL);
	wait_child(other);
	expect_more();
}

TEST(in_moves)
{
	unsigned int moves = 0;

	require(REQUIRE_CPU2);
	must_schedule();
	arm(SHORT);
	while (going_on(2000))
		move_to_nth_cpu(moves++ % 2);
	expect_more();
	fact_int("moves", moves);
}

TEST(in_faults)
{
	must_schedule();
	arm(SHORT);
	while (going_on(2000))
		cause_faults(10);
	expect_more();
}

PROBE_MAIN
