/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does it say to attach to a thread that is just ending, or has ended? A tracer that lists
 * threads meets both all the time; it must get an event or ESRCH, and never hang.
 * Observed: the answers for threads that end at once, and for one that is known to be gone.
 */
#include "probe.h"

PROBE(TITLE("attaching to a thread that ends")
      SINCE("2.6.31")
      POINT(ending_thread, "attaching to a thread that may be ending opens, or says ESRCH")
      POINT(ended_thread, "attaching to a thread that has ended says ESRCH"))

static void *end_at_once(void *tid)
{
	__atomic_store_n((pid_t *)tid, pm_gettid(), __ATOMIC_RELEASE);
	return NULL;
}

TEST(ending_thread)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	for (int i = 0; i < 50; i++) {
		pid_t tid = 0, seen;
		pthread_t thread;
		int fd;

		ASSERT_EQ(0, pthread_create(&thread, NULL, end_at_once, &tid));
		while (!(seen = __atomic_load_n(&tid, __ATOMIC_ACQUIRE)))
			sched_yield();
		fd = pm_open(&attr, seen, -1, -1, 0);
		ASSERT_EQ(0, pthread_join(thread, NULL));
		if (fd < 0 && fd != -ESRCH)
			say_broken("try %d: errno=%s, want an event or ESRCH", i,
				   pm_errno_name(fd));
		if (fd >= 0)
			close(fd);
	}
}

TEST(ended_thread)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct worker worker;
	pid_t tid;

	must_start_worker(&worker, WORKER_THREAD);
	tid = worker.tid;
	close(must_open(&attr, tid, -1, -1, 0));
	ASSERT_EQ(0, worker_stop(&worker));
	expect_refused(pm_open(&attr, tid, -1, -1, 0), ESRCH, BROKEN, "a thread that has ended");
}

PROBE_MAIN
