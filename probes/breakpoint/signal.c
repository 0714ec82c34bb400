/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does each hit of a breakpoint send a signal? A program that watches itself then learns of a
 * write at once, without a debugger. A handler may itself run into another breakpoint.
 * Observed: signals against writes, one by one, from outside and from within a handler.
 */
#include "probe.h"
#include "breakpoint.h"
#include "signals.h"
#include <sys/prctl.h>

PROBE(TITLE("signals of breakpoints")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(arrive, "with O_ASYNC each of 9 writes sends one signal")
      POINT(nested, "a breakpoint hit in the handler of another sends its own signal")
      FACT(inner_first, bool, "-", "the inner handler had run when the outer one ended"))

#define MANY 100

static volatile int32_t cell __attribute__((aligned(8)));
static volatile int32_t other __attribute__((aligned(8)));
static volatile sig_atomic_t signals, inner, inner_first;

/* Some kernels return to the write that was hit, and hit it again, for ever. */
static void count_bounded(volatile sig_atomic_t *count)
{
	if (++*count == MANY)
		prctl(PR_TASK_PERF_EVENTS_DISABLE);
}

static void count_signal(int number)
{
	(void)number;
	count_bounded(&signals);
}

/* O_ASYNC has no effect without a ring. */
static void watch_and_signal(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);
	struct sigaction action = { .sa_handler = count_signal };
	struct sampler sampler;

	attr.sample_period = 1;
	attr.disabled = 0;
	sampler = must_sampler(&attr, 0, -1, 4);
	ASSERT_EQ(0, sigaction(SIGIO, &action, NULL));
	ASSERT_EQ(0, fcntl(sampler.fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(sampler.fd, F_SETFL, O_ASYNC));
}

TEST(arrive)
{
	int done = 0;

	watch_and_signal();
	for (; done < 9; done++) {
		const uint64_t end = now_ns() + 100000000;

		cell = done;
		while (signals != done + 1 && now_ns() < end)
			sched_yield();
		if (signals != done + 1)
			break;
	}
	if (done != 9)
		say_broken("signals=%d after %d writes", (int)signals, done + 1);
}

static void on_inner(int number)
{
	(void)number;
	count_bounded(&inner);
}

/* The write is what the other breakpoint waits for. */
static void on_outer(int number)
{
	(void)number;
	count_bounded(&signals);
	other = signals;
	inner_first = inner;
}

/* A thread's breakpoint, with a real-time signal of its own. */
static int must_signal(volatile int32_t *where, int number, void (*handler)(int))
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, where, 4);
	const struct sigaction action = { .sa_handler = handler };
	struct sampler sampler;

	attr.sample_period = 1;
	sampler = must_sampler(&attr, 0, -1, 1);
	ASSERT_EQ(0, sigaction(number, &action, NULL));
	must_get_signals(sampler.fd, number, pm_gettid());
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	return sampler.fd;
}

TEST(nested)
{
	const int outer_fd = must_signal(&cell, SIGRTMIN + 1, on_outer);
	const int inner_fd = must_signal(&other, SIGRTMIN + 2, on_inner);
	const uint64_t end = now_ns() + 1000000000;
	sigset_t both;

	sigemptyset(&both);
	sigaddset(&both, SIGRTMIN + 1);
	sigaddset(&both, SIGRTMIN + 2);
	ASSERT_EQ(0, pthread_sigmask(SIG_UNBLOCK, &both, NULL));
	cell = 1;
	while ((!signals || !inner) && now_ns() < end)
		sched_yield();
	if (signals != 1 || inner != 1)
		say_broken("signals=%d of one write, %d of the one in the handler", (int)signals,
			   (int)inner);
	if (must_count(outer_fd) != 1 || must_count(inner_fd) != 1)
		say_broken("counted=%" PRIu64 ",%" PRIu64 " want=1,1", must_count(outer_fd),
			   must_count(inner_fd));
	fact_bool("inner_first", inner_first);
}

PROBE_MAIN
