/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does it cost to attach to every thread of a program, one event each? A tracer without
 * inherit has to, and attaches while the program runs.
 * Observed: the time to open the events; each counts the different, exact number of page faults of
 * its own thread.
 */
#include "probe.h"

PROBE(TITLE("one event for each of many threads")
      SINCE("2.6.31")
      POINT(attach_threads, "one event for each of 24 threads opens, and each counts its own")
      FACT(attach_ns, int, "ns", "mean time to open one event on another thread"))

#define THREADS 24

TEST(attach_threads)
{
	const struct perf_event_attr attr = attr_counter(false);
	struct worker workers[THREADS];
	uint64_t start, gain;
	int fds[THREADS];

	for (int i = 0; i < THREADS; i++)
		must_start_worker(&workers[i], WORKER_THREAD);
	start = now_ns();
	for (int i = 0; i < THREADS; i++)
		fds[i] = must_open(&attr, workers[i].tid, -1, -1, 0);
	fact_int("attach_ns", (now_ns() - start) / THREADS);
	for (int i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, worker_faults(&workers[i], i + 1));
		gain = must_count(fds[i]);
		if (gain != (uint64_t)i + 1)
			say_broken("thread %d: counted=%" PRIu64 " want=%d", i, gain, i + 1);
	}
}

PROBE_MAIN
