/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do a thread's events on single CPUs add up to the thread's total? What ran on which hardware
 * thread is known exactly only from one event for each (thread, CPU); a library that attributes
 * counts to a topology needs their sum to be the whole.
 * Observed: a thread moves between CPUs and causes a known number of page faults on each; the
 * events of the pairs are read beside an event on any CPU.
 */
#include "probe.h"
#include <sched.h>

PROBE(TITLE("counts by thread and CPU")
      SINCE("2.6.31")
      NEEDS("cpu2")
      POINT(each, "after 200 moves each CPU's event of a thread has the faults caused there")
      POINT(sum, "the sum over all CPUs is what the thread's event on any CPU counts")
      POINT(times, "each pair's time_running is at most the time enabled, and together they are "
		   "the thread's")
      POINT(other_thread, "events of the same CPUs on another thread count none of it"))

#define MOVES 200
#define TOLERANCE 1000000	/* ns */
#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct watch {
	int any, pair[2], cpu[2];
};

static int open_counter(pid_t tid, int cpu)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.read_format = TIMES;
	return must_open(&attr, tid, cpu, -1, 0);
}

/* Events of a thread on any CPU and on two CPUs. */
static struct watch must_watch(struct worker *worker)
{
	struct watch watch;

	for (int i = 0; i < 2; i++) {
		watch.cpu[i] = worker_move(worker, (unsigned int)i);
		ASSERT_LE(0, watch.cpu[i]);
		watch.pair[i] = open_counter(worker->tid, watch.cpu[i]);
	}
	watch.any = open_counter(worker->tid, -1);
	return watch;
}

static struct pm_counts counts(int fd)
{
	return must_counts(fd, TIMES);
}

static void enable_all(const struct watch *watch)
{
	const int fds[] = { watch->any, watch->pair[0], watch->pair[1] };

	for (int i = 0; i < 3; i++)
		must_ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

struct work {
	int moves, errors;
	unsigned int faults[2];
};

/* In the worker: moves from CPU to CPU; one fault more on the first than on the second. */
static int move_and_fault(void *argument)
{
	struct work *work = argument;

	for (int i = 0; i < work->moves; i++) {
		if (move_to_nth_cpu(i % 2) < 0 || cause_faults(4 + !(i % 2)))
			work->errors++;
		work->faults[i % 2] += 4 + !(i % 2);
	}
	return 0;
}

static struct worker worker;

/* What an event on any CPU says before and after those of the pairs are read. */
struct moment {
	struct pm_counts any[2], pair[2];
};

static struct moment look_at(const struct watch *watch)
{
	struct moment moment;

	moment.any[0] = counts(watch->any);
	for (int i = 0; i < 2; i++)
		moment.pair[i] = counts(watch->pair[i]);
	moment.any[1] = counts(watch->any);
	return moment;
}

/* The worker's events after its moves; what surrounds them is in none. */
static struct watch watch_moves(struct work *work)
{
	struct watch watch;

	require(REQUIRE_CPU2);
	must_start_worker(&worker, WORKER_THREAD);
	watch = must_watch(&worker);
	ASSERT_EQ(0, worker_do(&worker, move_and_fault, &(struct work){ .moves = 2 }));
	enable_all(&watch);
	ASSERT_EQ(0, worker_do(&worker, move_and_fault, work));
	ASSERT_EQ(0, work->errors);
	return watch;
}

TEST(each)
{
	struct work work = { .moves = MOVES };
	struct watch watch = watch_moves(&work);
	uint64_t got[2];

	for (int i = 0; i < 2; i++)
		got[i] = counts(watch.pair[i]).member[0].value;
	if (got[0] != work.faults[0] || got[1] != work.faults[1])
		say_broken("CPU %d: %" PRIu64 " want=%u, CPU %d: %" PRIu64 " want=%u",
			   watch.cpu[0], got[0], work.faults[0], watch.cpu[1], got[1],
			   work.faults[1]);
}

TEST(sum)
{
	struct work work = { .moves = MOVES };
	struct watch watch = watch_moves(&work);
	const struct moment now = look_at(&watch);
	const uint64_t sum = now.pair[0].member[0].value + now.pair[1].member[0].value;
	const uint64_t least = now.any[0].member[0].value, most = now.any[1].member[0].value;

	if (sum < least || sum > most)
		say_broken("sum=%" PRIu64 " total=%" PRIu64 "..%" PRIu64, sum, least, most);
}

/* The worker may be on its way to sleep still when events are enabled, and when they are read. */
TEST(times)
{
	struct work work = { .moves = MOVES };
	struct moment first, last;
	struct watch watch;
	uint64_t sum = 0, least, most;

	watch = watch_moves(&(struct work){ .moves = 2 });
	first = look_at(&watch);
	ASSERT_EQ(0, worker_do(&worker, move_and_fault, &work));
	last = look_at(&watch);
	least = last.any[0].time_running - first.any[1].time_running;
	most = last.any[1].time_running - first.any[0].time_running;
	for (int i = 0; i < 2; i++) {
		const struct pm_counts *pair = &last.pair[i];

		if (pair->time_running > pair->time_enabled || !pair->time_running)
			say_broken("CPU %d: time_enabled=%" PRIu64 " time_running=%" PRIu64,
				   watch.cpu[i], pair->time_enabled, pair->time_running);
		sum += pair->time_running - first.pair[i].time_running;
	}
	if (sum + TOLERANCE < least || sum > most + TOLERANCE)
		say_broken("running=%" PRIu64 " on both, want %" PRIu64 "..%" PRIu64, sum, least,
			   most);
}

TEST(other_thread)
{
	struct worker idle;
	struct work work = { .moves = MOVES };
	struct watch watch;
	uint64_t before[2], after;

	must_start_worker(&idle, WORKER_THREAD);
	require(REQUIRE_CPU2);
	watch = must_watch(&idle);
	enable_all(&watch);
	for (int i = 0; i < 2; i++)
		before[i] = counts(watch.pair[i]).member[0].value;
	watch_moves(&work);
	for (int i = 0; i < 2; i++) {
		after = counts(watch.pair[i]).member[0].value;
		if (after != before[i])
			say_broken("CPU %d: %" PRIu64 " of another thread", watch.cpu[i],
				   after - before[i]);
	}
}

PROBE_MAIN
