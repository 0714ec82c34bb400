/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the ring follow a task's name? Threads are told apart by it.
 * Observed: names set by prctl(2) and through /proc; each gives exactly one record.
 */
#include "probe.h"
#include <stdio.h>
#include <sys/prctl.h>

PROBE(TITLE("task names in the ring")
      SINCE("2.6.31")
      POINT(set_name, "PR_SET_NAME gives one COMM with pid, tid and the new name")
      POINT(proc, "writing /proc/self/task/TID/comm gives one COMM with the new name"))

static struct sampler watch_names(void)
{
	struct perf_event_attr attr = attr_sideband();

	attr.comm = 1;
	return must_run_sampler(&attr, 0, -1, 2);
}

TEST(set_name)
{
	struct sampler sampler = watch_names();
	struct pm_record record;

	prctl(PR_SET_NAME, "name of fifteen");
	if (!find_record(&sampler, PERF_RECORD_COMM, &record))
		say_broken("no COMM after PR_SET_NAME");
	if (record.comm.pid != (uint32_t)getpid() || record.comm.tid != (uint32_t)pm_gettid())
		say_broken("pid=%u tid=%u want=%d", record.comm.pid, record.comm.tid, getpid());
	if (strcmp(record.comm.comm, "name of fifteen"))
		say_broken("comm=%.40s want=name of fifteen", record.comm.comm);
	if (find_record(&sampler, PERF_RECORD_COMM, &record))
		say_broken("a second COMM for one change");
}

TEST(proc)
{
	struct sampler sampler = watch_names();
	struct pm_record record;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", pm_gettid());
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "by proc", 7) != 7)
		say_blocked("cannot write /proc/self/task/TID/comm: %s", pm_errno_name(errno));
	close(fd);
	if (!find_record(&sampler, PERF_RECORD_COMM, &record))
		say_broken("no COMM after a write to /proc");
	if (strcmp(record.comm.comm, "by proc"))
		say_broken("comm=%.40s want=by proc", record.comm.comm);
}

PROBE_MAIN
