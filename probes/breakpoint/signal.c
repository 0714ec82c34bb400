/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does each hit of a breakpoint give a signal? So a program that watches itself learns of a write
 * at once, without a debugger. Observed: signals against writes, one by one.
 */
#include "probe.h"

PROBE(TITLE("signals of breakpoints")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(arrive, "with O_ASYNC each of 9 writes gives one signal"))

static volatile int32_t cell __attribute__((aligned(8)));
static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

/* O_ASYNC has no effect without a ring. */
static void watch_and_signal(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);
	struct sigaction action = { .sa_handler = count_signal };
	struct watch watch;

	attr.sample_period = 1;
	attr.disabled = 0;
	watch = must_watch(&attr, 0, -1, 4);
	ASSERT_EQ(0, sigaction(SIGIO, &action, NULL));
	ASSERT_EQ(0, fcntl(watch.fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(watch.fd, F_SETFL, O_ASYNC));
}

TEST(arrive)
{
	int done = 0;

	watch_and_signal(_metadata);
	for (; done < 9; done++) {
		const uint64_t end = now_ns() + 100000000;

		cell = done;
		while (signals != done + 1 && now_ns() < end)
			sched_yield();
		if (signals != done + 1)
			break;
	}
	if (done != 9)
		broken("signals=%d after %d writes", (int)signals, done + 1);
}

PROBE_MAIN
