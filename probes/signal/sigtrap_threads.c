/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are synchronous SIGTRAPs exact when many threads write to one watched variable at once? A checker
 * of memory accesses depends on it. Observed: each thread's own count of traps against its own
 * writes, and no trap after the event was switched off and on meanwhile.
 * Linux 97ba62b27867 ("perf: Add support for SIGTRAP on perf events") (v5.13)
 */
#include "probe.h"
#include "sigtrap_threads.h"

PROBE(TITLE("SIGTRAPs of many threads at once")
      SINCE("5.13")
      COMMIT("97ba62b27867")
      NEEDS("breakpoint")
      POINT(each_write, "5 threads write 300 times each at once, and each gets 300 SIGTRAPs")
      POINT(switched, "no SIGTRAP comes after the last DISABLE of an event that is switched while "
	    "5 threads write"))

#define WRITES 300

/* Threads that start together, write and end; those of a storm without end until told. */
static struct storm {
	pthread_barrier_t start;
	pthread_t threads[THREADS];
	volatile int traps[THREADS];
	volatile bool over, off;
	bool endless;
} storm;

static void *write_often(void *slot)
{
	volatile int *mine = slot;
	int after;

	traps = 0;
	pthread_barrier_wait(&storm.start);
	for (int i = 0; storm.endless ? !storm.over : i < WRITES; i++) {
		write_cell(&cells[0], i);
		if (storm.endless)
			sched_yield();	/* whoever switches needs a CPU, too */
	}
	after = traps;
	for (int i = 0; storm.off && i < 100; i++)
		write_cell(&cells[0], i);
	*mine = storm.endless ? traps - after : traps;
	return NULL;
}

static void storm_begin(bool endless)
{
	storm.endless = endless;
	ASSERT_EQ(0, pthread_barrier_init(&storm.start, NULL, THREADS + 1));
	for (int i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&storm.threads[i], NULL, write_often,
					    (void *)&storm.traps[i]));
	pthread_barrier_wait(&storm.start);
}

static int storm_end(void)
{
	int sum = 0;

	for (int i = 0; i < THREADS; i++) {
		pthread_join(storm.threads[i], NULL);
		sum += storm.traps[i];
	}
	return sum;
}

TEST(each_write)
{
	struct worker workers[THREADS];
	int fd = must_trap(workers);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	storm_begin(false);
	storm_end();
	for (int i = 0; i < THREADS; i++)
		if (storm.traps[i] != WRITES)
			say_broken("thread %d: traps=%d want=%d", i, storm.traps[i], WRITES);
}

TEST(switched)
{
	const uint64_t end = now_ns() + 3000000000;
	struct worker workers[THREADS];
	int fd = must_trap(workers), before, late;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	before = trapped(workers, 0);
	storm_begin(true);
	/* Twenty times, or as often as a machine that hardly runs gets to it. */
	for (int i = 0; i < 20 && now_ns() < end; i++) {
		must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	storm.off = true;
	storm.over = true;
	late = storm_end();
	if (late || before != THREADS)
		say_broken("traps after the last DISABLE=%d want=0, before=%d want=%d", late,
			   before, THREADS);
}

PROBE_MAIN
