/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are context switches and migrations counted exactly, and what does a task without privilege see?
 * Both happen in the kernel, so an event for user mode alone opens, works and reads 0 for ever: the
 * best known trap of unprivileged perf. Observed: the kernel's own numbers of the thread beside the
 * event's, and moves between two CPUs.
 * Linux e49a5bd38159 ("perf: Use hot regs with software sched switch/migrate events") (v2.6.34)
 */
#include "probe.h"
#include <sys/resource.h>

PROBE(TITLE("context switches and migrations")
      SINCE("2.6.31")
      POINT(switches_exact, "context-switches equals the thread's own number in getrusage")
      POINT(switches_user_only, "with exclude_kernel, context-switches reads 0")
      SINCE("2.6.34")
      COMMIT("e49a5bd38159")
      POINT(migrations_exact, "cpu-migrations: 20 moves to another CPU are 20 counts")
      NEEDS("cpu2")
      POINT(migrations_user_only, "with exclude_kernel, cpu-migrations reads 0")
      SINCE("2.6.34")
      COMMIT("e49a5bd38159")
      NEEDS("cpu2")
      POINT(sampled, "each context switch of period 1 gives a sample")
      POINT(task_switches_own, "another thread's switches are not counted")
      FACT(switches, int, "counts", "context switches counted over 20 short sleeps"))

static uint64_t switches_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static int sleep_often(void *times)
{
	for (int i = 0; i < (int)(intptr_t)times; i++)
		poll(NULL, 0, 1);
	return 0;
}

static int move_often(void)
{
	int cpu = move_to_nth_cpu(0);

	for (int i = 0; i < 20 && cpu >= 0; i++)
		cpu = move_to_nth_cpu((i + 1) % 2);
	return cpu < 0 ? cpu : 0;
}

static int open_running(struct __test_metadata *_metadata, uint64_t config, bool user_only)
{
	struct perf_event_attr attr = attr_software(config);

	attr.exclude_kernel = user_only;
	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

TEST(switches_exact)
{
	int fd = open_running(_metadata, PERF_COUNT_SW_CONTEXT_SWITCHES, false);
	uint64_t start[2], end[2], counted[2];

	for (int attempt = 0; attempt < 10; attempt++) {
		start[0] = switches_so_far();
		counted[0] = must_count(fd);
		start[1] = switches_so_far();
		sleep_often((void *)20);
		end[0] = switches_so_far();
		counted[1] = must_count(fd);
		end[1] = switches_so_far();
		if (start[0] == start[1] && end[0] == end[1])
			break;	/* no switch between the two readings */
	}
	if (start[0] != start[1] || end[0] != end[1])
		cannot_tell("switched away at every reading");
	fact_int("switches", counted[1] - counted[0]);
	if (counted[1] - counted[0] != end[0] - start[0] || end[0] - start[0] < 20)
		broken("counted=%" PRIu64 " getrusage=%" PRIu64, counted[1] - counted[0],
		       end[0] - start[0]);
}

TEST(switches_user_only)
{
	int fd = open_running(_metadata, PERF_COUNT_SW_CONTEXT_SWITCHES, true);
	uint64_t before = switches_so_far(), count;

	sleep_often((void *)10);
	before = switches_so_far() - before;
	count = must_count(fd);
	if (before < 10)
		cannot_tell("only %" PRIu64 " switches", before);
	if (count)
		say_no("counted %" PRIu64 " of %" PRIu64 " switches as user mode", count, before);
}

TEST(migrations_exact)
{
	uint64_t before, count;
	int fd;

	require(REQUIRE_CPU2);
	fd = open_running(_metadata, PERF_COUNT_SW_CPU_MIGRATIONS, false);
	ASSERT_LE(0, move_to_nth_cpu(0));
	before = must_count(fd);
	ASSERT_EQ(0, move_often());
	count = must_count(fd) - before;
	if (count != 20)
		broken("counted=%" PRIu64 " want=20", count);
}

TEST(migrations_user_only)
{
	uint64_t count;
	int fd;

	require(REQUIRE_CPU2);
	fd = open_running(_metadata, PERF_COUNT_SW_CPU_MIGRATIONS, true);
	ASSERT_EQ(0, move_often());
	count = must_count(fd);
	if (count)
		say_no("counted %" PRIu64 " of 20 migrations as user mode", count);
}

TEST(sampled)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct watch watch;
	uint64_t count;
	int samples;

	attr.exclude_kernel = 0;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	watch = must_watch(&attr, 0, -1, 8);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	sleep_often((void *)10);
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	count = must_count(watch.fd);
	samples = count_records(&watch.ring, PERF_RECORD_SAMPLE);
	if (count < 10 || (uint64_t)samples != count)
		broken("samples=%d counted=%" PRIu64 " want>=10", samples, count);
}

TEST(task_switches_own)
{
	int fd = open_running(_metadata, PERF_COUNT_SW_CONTEXT_SWITCHES, false);
	uint64_t mine, count;
	struct worker worker;

	must_start(&worker, WORKER_THREAD);
	mine = switches_so_far();
	count = must_count(fd);
	ASSERT_EQ(0, worker_do(&worker, sleep_often, (void *)30));
	count = must_count(fd) - count;
	mine = switches_so_far() - mine;
	if (count > mine)
		broken("counted=%" PRIu64 " of which this thread's=%" PRIu64, count, mine);
}

PROBE_MAIN
