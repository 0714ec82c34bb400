/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a tracer attach to every thread of a process that starts and ends threads all the time, by
 * listing /proc/self/task until nothing new appears? And does an inherited event opened on each
 * thread close the gap between two listings?
 * Observed: after the listing has converged, every thread that lives has an event; with inherit, a
 * thread started by a watched one is covered without being listed.
 */
#include "probe.h"
#include "fork_exec.h"

#include <dirent.h>
#include <stdlib.h>

PROBE(TITLE("attaching to threads that come and go")
      SINCE("2.6.31")
      POINT(converges, "listing and attaching ends, with every long-lived thread attached once")
      POINT(heirs, "with inherit, a thread started after the listing is counted by its starter")
      FACT(rounds, int, "listings", "listings until nothing new appeared")
      FACT(missed, int, "threads", "threads gone between listing and attaching (ESRCH)"))

#define STEADY 6
#define MOST 256

static volatile bool stop;

static void *live_shortly(void *unused)
{
	(void)unused;
	cause_faults(1);
	return NULL;
}

/* Makes threads one after the other, so that one of them is always being born or dying. */
static void *churn(void *unused)
{
	while (!stop)
		if (run_in_thread(live_shortly, unused))
			break;
	return NULL;
}

struct attached {
	pid_t tids[MOST];
	int fds[MOST], count, missed, error;
};

static bool known(const struct attached *attached, pid_t tid)
{
	for (int i = 0; i < attached->count; i++)
		if (attached->tids[i] == tid)
			return true;
	return false;
}

/* Attach to every thread listed that has no event yet; returns how many were new. */
static int list_and_attach(struct attached *attached, bool inherit)
{
	const struct perf_event_attr attr = attr_counter(inherit);
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	int found = 0;

	while (folder && (entry = readdir(folder)) && attached->count < MOST) {
		pid_t tid = atoi(entry->d_name);
		int fd;

		if (tid <= 0 || known(attached, tid))
			continue;
		fd = pm_open(&attr, tid, -1, -1, 0);
		attached->missed += fd == -ESRCH;
		if (fd < 0 && fd != -ESRCH)
			attached->error = fd;
		if (fd < 0)
			continue;
		attached->tids[attached->count] = tid;
		attached->fds[attached->count++] = fd;
		found++;
	}
	if (!folder)
		attached->error = -ENOENT;
	else
		closedir(folder);
	return found;
}

static int attach_all(struct attached *attached, bool inherit)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int rounds = 1;

	memset(attached, 0, sizeof(*attached));
	close(must_open(&attr, 0, -1, -1, 0));
	while (list_and_attach(attached, inherit) && rounds < 100)
		rounds++;
	if (attached->error == -ENOENT)
		say_absent("no /proc/self/task to list threads from");
	if (attached->error)
		say_broken("attaching to a listed thread: %s", pm_errno_name(attached->error));
	return rounds;
}

TEST(converges)
{
	static struct attached attached;
	struct worker steady[STEADY];
	pthread_t thread;
	int rounds;

	for (int i = 0; i < STEADY; i++)
		must_start_worker(&steady[i], WORKER_THREAD);
	ASSERT_EQ(0, pthread_create(&thread, NULL, churn, NULL));
	rounds = attach_all(&attached, true);
	stop = true;
	ASSERT_EQ(0, pthread_join(thread, NULL));
	fact_int("rounds", rounds);
	fact_int("missed", attached.missed);
	for (int i = 0; i < STEADY; i++) {
		int fd = -1;

		for (int j = 0; j < attached.count; j++)
			if (attached.tids[j] == steady[i].tid)
				fd = attached.fds[j];
		if (fd < 0)
			say_broken("thread %d of %d was not listed in %d rounds", i, STEADY,
				   rounds);
		if (gain_of_faults(fd, &steady[i], 9) != 9)
			say_broken("thread %d of %d: its 9 faults were not counted", i, STEADY);
	}
}

/* The new thread is made by one that was listed: that one's event has to see its faults. */
TEST(heirs)
{
	static struct attached attached;
	struct worker maker, inherited;
	uint64_t gain;
	int fd = -1;

	ASSERT_EQ(0, worker_prepare(&inherited, WORKER_THREAD));
	must_start_worker(&maker, WORKER_THREAD);
	attach_all(&attached, true);
	for (int i = 0; i < attached.count; i++)
		if (attached.tids[i] == maker.tid)
			fd = attached.fds[i];
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, worker_do(&maker, worker_launch, &inherited));
	gain = gain_of_faults(fd, &inherited, 11);
	if (gain != 11)
		say_broken("gained=%" PRIu64 " want=11 from a thread never listed", gain);
}

PROBE_MAIN
