/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the value that read(2) gives be relied on at any time: fresh while the event runs on another
 * CPU, still after disabling, monotone, and there after the task has ended?
 * Observed: exact page-fault counts around each step; for the running task a clock that must have
 * moved between two reads from another CPU.
 */
#include "probe.h"

PROBE(TITLE("values read while running, stopped and after the end")
      SINCE("2.6.31")
      POINT(starts_at_zero, "0 while disabled, whatever the task does")
      POINT(monotone, "never falls while the event counts")
      POINT(after_disable, "stays exactly the same after DISABLE, and goes on after ENABLE")
      POINT(whole_each_time, "each read gives the whole value: there is no file position")
      POINT(nonblocking, "O_NONBLOCK changes nothing")
      POINT(running_elsewhere, "fresh for a task that runs on another CPU right now")
      NEEDS("cpu2")
      POINT(dead_task, "the last value is readable after the task's end")
      FACT(pread, enum, "-", "answer to pread(2) at offset 0: success or errno name"))

static struct perf_event_attr counting(bool disabled)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = disabled;
	return attr;
}

TEST(starts_at_zero)
{
	const struct perf_event_attr attr = counting(true);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t value;

	ASSERT_EQ(0, cause_faults(7));
	value = must_count(fd);
	if (value)
		broken("counted=%" PRIu64 " while disabled", value);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	value = gain_of_faults(fd, NULL, 7);
	if (value != 7)
		broken("counted=%" PRIu64 " want=7 once enabled", value);
}

TEST(monotone)
{
	const struct perf_event_attr attr = counting(false);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t last = must_count(fd), value, first = last;

	for (int i = 0; i < 500; i++) {
		ASSERT_EQ(0, cause_faults(1));
		value = must_count(fd);
		if (value < last)
			broken("read %" PRIu64 " after %" PRIu64, value, last);
		last = value;
	}
	if (last < first + 500)
		broken("counted=%" PRIu64 " want at least 500", last - first);
}

TEST(after_disable)
{
	const struct perf_event_attr attr = counting(false);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t stopped, later;

	ASSERT_EQ(0, cause_faults(7));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	stopped = must_count(fd);
	ASSERT_EQ(0, cause_faults(7));
	later = must_count(fd);
	if (later != stopped || stopped < 7)
		broken("at_disable=%" PRIu64 " later=%" PRIu64, stopped, later);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	later = gain_of_faults(fd, NULL, 7);
	if (later != 7)
		broken("counted=%" PRIu64 " want=7 after enabling again", later);
}

TEST(whole_each_time)
{
	const struct perf_event_attr attr = counting(false);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t first, second, at = 0;
	ssize_t got;

	ASSERT_EQ(0, cause_faults(7));
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	first = must_count(fd);
	second = must_count(fd);
	if (first < 7 || first != second)
		broken("first=%" PRIu64 " second=%" PRIu64, first, second);
	got = pread(fd, &at, sizeof(at), 0);
	fact_str("pread", "%s", errno_name(got < 0 ? errno : 0));
	if (got >= 0 && at != first)
		broken("pread=%" PRIu64 " read=%" PRIu64, at, first);
}

TEST(nonblocking)
{
	const struct perf_event_attr attr = counting(false);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t gain;

	ASSERT_EQ(0, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	ASSERT_NE(0, fcntl(fd, F_GETFL) & O_NONBLOCK);
	gain = gain_of_faults(fd, NULL, 7);
	if (gain != 7)
		broken("counted=%" PRIu64 " want=7", gain);
}

static volatile bool stop;

static void *run(void *tid)
{
	if (move_to_nth_cpu(1) < 0)
		return NULL;
	__atomic_store_n((pid_t *)tid, pm_gettid(), __ATOMIC_RELEASE);
	while (!stop)
		;
	return NULL;
}

/* Bounded by the clock, for the other CPU may be busy with somebody else. */
TEST(running_elsewhere)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_TASK_CLOCK);
	const uint64_t give_up = now_ns() + 3000000000u;
	uint64_t first, value;
	pid_t tid = 0;
	pthread_t thread;
	int fd;

	require(REQUIRE_PERF | REQUIRE_CPU2);
	ASSERT_LE(0, move_to_nth_cpu(0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, run, &tid));
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE) && now_ns() < give_up)
		sched_yield();
	ASSERT_NE(0, tid);
	attr.disabled = 0;
	fd = must_open(&attr, tid, -1, -1, 0);
	first = must_count(fd);
	/* Without a fresh value the reads between two ticks of that CPU would all be the same. */
	for (int changes = 0; changes < 20;) {
		value = must_count(fd);
		if (value < first)
			broken("read %" PRIu64 " after %" PRIu64, value, first);
		changes += value != first;
		first = value;
		if (now_ns() > give_up)
			broken("a running task's clock changed %d times in 3 s", changes);
	}
	stop = true;
	pthread_join(thread, NULL);
}

TEST(dead_task)
{
	const struct perf_event_attr attr = counting(false);
	struct worker child;
	uint64_t alive, dead;
	int fd;

	must_start(&child, WORKER_CHILD);
	fd = must_open(&attr, child.tid, -1, -1, 0);
	alive = gain_of_faults(fd, &child, 7);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, worker_stop(&child));
	dead = must_count(fd);
	if (alive != 7 || dead != 7)
		broken("alive=%" PRIu64 " dead=%" PRIu64 " want=7", alive, dead);
}

PROBE_MAIN
