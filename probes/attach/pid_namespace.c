/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which PID namespace do process ids in a call belong to? The caller's. Observed: the first process
 * of a new namespace watches itself as process 1, and its parent's id is refused, because no task
 * inside has it.
 */
#include "probe.h"
#include "pid_namespace.h"

PROBE(TITLE("process ids across namespaces")
      SINCE("2.6.32")
      NEEDS("root")
      POINT(pid_is_local, "inside, pid 1 is the namespace's first process and counts its faults")
      POINT(outer_pid_unknown, "inside, an outer id is refused with ESRCH"))

enum answer { RIGHT, WRONG, NOT_OPENED, REFUSED };

static pid_t outer_tid;

static int watch_first(void *unused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	uint64_t count = 0;
	int fd = pm_open(&attr, 1, -1, -1, 0);

	(void)unused;
	if (fd < 0)
		return NOT_OPENED;
	pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	cause_faults(16);
	pm_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	pm_read_count(fd, &count);
	return count >= 16 && count < 24 ? RIGHT : WRONG;
}

static int watch_outer_id(void *unused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	int fd = pm_open(&attr, outer_tid, -1, -1, 0);

	(void)unused;
	return fd == -ESRCH ? RIGHT : fd >= 0 ? WRONG : REFUSED;
}

static pid_t start_inside(int (*function)(void *))
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	pid_t child;

	close(must_open(&attr, 0, -1, -1, 0));
	outer_tid = pm_gettid();
	child = start_child_inside(function, NULL);
	if (child < 0)
		say_blocked("no new PID namespace: %s", pm_errno_name(child));
	return child;
}

static void judge(int answer)
{
	static const char *const words[] = { "right", "wrong", "not opened", "another errno" };

	if (answer != RIGHT)
		say_broken("inside: %s",
			   answer >= 0 && answer <= REFUSED ? words[answer] : "crash");
}

TEST(pid_is_local)
{
	judge(wait_child(start_inside(watch_first)));
}

TEST(outer_pid_unknown)
{
	if (pm_gettid() < 100)
		say_unknown("our own id %d is too small to be unknown inside", pm_gettid());
	judge(wait_child(start_inside(watch_outer_id)));
}

PROBE_MAIN
