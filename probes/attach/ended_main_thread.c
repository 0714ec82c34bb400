/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a process be watched whose main thread has ended? It lives on in its other threads, but its
 * process id names the main thread. Observed: ESRCH for that thread, which is a zombie, while
 * another thread of the same process can be watched.
 */
#include "probe.h"
#include <stdio.h>

PROBE(TITLE("a main thread that ended before its process")
      SINCE("2.6.31")
      POINT(is_gone, "ESRCH for an ended main thread whose process lives on"))

static const struct perf_event_attr *faults(void)
{
	static struct perf_event_attr attr;

	attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	close(must_open(&attr, 0, -1, -1, 0));
	return &attr;
}

static int survivor[2];

static void *survive(void *unused)
{
	pid_t tid = pm_gettid();

	if (write(survivor[1], &tid, sizeof(tid)) == sizeof(tid))
		for (;;)
			pause();
	return unused;
}

static int end_main_thread(void *unused)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, survive, NULL))
		return 1;
	pthread_exit(unused);
}

static bool is_zombie(pid_t tid)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	pm_read_text(path, text, sizeof(text));
	return strstr(text, ") Z ");
}

TEST(is_gone)
{
	const struct perf_event_attr *attr = faults();
	const uint64_t end = now_ns() + 2000000000;
	pid_t child, tid;
	int fd;

	ASSERT_EQ(0, pipe(survivor));
	child = start_child(end_main_thread, NULL);
	ASSERT_LT(0, child);
	ASSERT_EQ((ssize_t)sizeof(tid), read(survivor[0], &tid, sizeof(tid)));
	while (!is_zombie(child) && now_ns() < end)
		sched_yield();
	if (!is_zombie(child))
		say_unknown("the main thread did not end");
	fd = pm_open(attr, tid, -1, -1, 0);
	if (fd < 0)
		say_unknown("the thread that lives on: %s", pm_errno_name(fd));
	fd = pm_open(attr, child, -1, -1, 0);
	kill(child, SIGKILL);
	expect_refused(fd, ESRCH, BROKEN, "an ended main thread");
}

PROBE_MAIN
