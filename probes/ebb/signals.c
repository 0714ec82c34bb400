/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power: do event-based branches (EBB) and signals bear each other? The kernel puts a signal's
 * frame on the stack that the handler of branches runs on, and nothing tells it about that
 * handler.
 * Observed: signals are sent by a timer, and by the handler itself to its own thread.
 * Power ISA 2.07, Book II, Event-Based Branch Facility.
 */
#include "probe.h"
#include "ebb.h"
#include "ebb_handler.h"
#include <setjmp.h>
#include <sys/syscall.h>
#include <sys/time.h>

PROBE(TITLE("event-based branches and signals")
      SINCE("3.10")
      NEEDS("arch:powerpc")
      POINT(beside, "a timer's signals each millisecond and 1500 branches: none is lost")
      POINT(branch_in_signal, "branches are taken inside a signal's handler")
      POINT(signal_in_handler, "a signal inside the handler of branches returns there, and "
			       "branches go on")
      POINT(left_by_longjmp, "a handler that a signal leaves by siglongjmp() takes branches again "
			     "once BESCR and MMCR0 are set anew"))

static volatile sig_atomic_t signals;
static volatile unsigned long taken_inside;
static sigjmp_buf back;

static void catch(int number, void (*handler)(int))
{
	const struct sigaction action = { .sa_handler = handler };

	signals = 0;
	ASSERT_EQ(0, sigaction(number, &action, NULL));
}

static void count_signal(int number)
{
	(void)number;
	signals++;
}

TEST(beside)
{
	const struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } }, off = { { 0, 0 }, { 0, 0 } };
	unsigned long taken;

	must_schedule();
	catch(SIGALRM, count_signal);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &each_ms, NULL));
	arm(20000);
	taken = take_branches(1500);
	disarm();
	setitimer(ITIMER_REAL, &off, NULL);
	expect_branches(taken, 1500);
	if (!signals)
		say_unknown("no signal came meanwhile");
	if (ebb_state.overflows[0] != ebb_state.branches)
		say_broken("branches=%lu overflows found by the handler=%lu beside %d signals",
			   ebb_state.branches, ebb_state.overflows[0], (int)signals);
}

static void branch_inside(int number)
{
	(void)number;
	taken_inside = take_branches(branches_taken() + 5);
}

TEST(branch_in_signal)
{
	unsigned long before;

	must_schedule();
	catch(SIGUSR1, branch_inside);
	arm(PERIOD);
	before = take_branches(2);
	raise(SIGUSR1);
	disarm();
	expect_branches(taken_inside, before + 5);
}

/* From now on the handler of branches sends this thread a signal. */
static void send_from_handler(int number)
{
	ebb_state.arguments[0] = (unsigned long)getpid();
	ebb_state.arguments[1] = (unsigned long)syscall(SYS_gettid);
	ebb_state.arguments[2] = (unsigned long)number;
	ebb_state.call = SYS_tgkill;
}

TEST(signal_in_handler)
{
	unsigned long taken;

	must_schedule();
	catch(SIGUSR1, count_signal);
	arm(PERIOD);
	send_from_handler(SIGUSR1);
	taken = take_branches(20);
	disarm();
	expect_branches(taken, 20);
	if ((unsigned long)signals < taken - 1)
		say_broken("%d signals came of %lu that the handler sent", (int)signals, taken);
}

static void jump_back(int number)
{
	(void)number;
	signals++;
	siglongjmp(back, 1);
}

TEST(left_by_longjmp)
{
	volatile int rounds;
	unsigned long taken;

	must_schedule();
	catch(SIGUSR1, jump_back);
	sigsetjmp(back, 1);
	rounds = signals;
	arm(PERIOD);
	if (rounds < 10)
		send_from_handler(SIGUSR1);
	taken = take_branches(10);
	disarm();
	expect_branches(taken, 10);
	if (rounds < 10)
		say_broken("the handler was left %d times, and then its signal did not come",
			   rounds);
}

PROBE_MAIN
