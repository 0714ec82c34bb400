/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose tasks may be watched without privilege? A profiler attaches to what it did not start. The
 * rule is ptrace's: same user, and dumpable. Observed: the answers to a process without any
 * privilege, whoever runs this probe, that opens events on unrelated tasks.
 */
#include "probe.h"
#include "finding.h"
#include "privilege.h"
#include <sys/prctl.h>
#include <sys/stat.h>

PROBE(TITLE("watching other users' tasks")
      SINCE("2.6.31")
      POINT(same_user, "an unrelated task of the same user can be watched, and is counted")
      POINT(other_user, "a task of another user is refused with EACCES")
      POINT(not_dumpable, "a task of the same user that is not dumpable is refused with EACCES"))

static pid_t target;
static int watching = -1;

static int open_target(void *unused)
{
	struct perf_event_attr attr = attr_counter(false);

	(void)unused;
	attr.disabled = 0;
	return watching = pm_open(&attr, target, -1, -1, 0);
}

/* What the event that was opened on the target has counted, as far as an int goes. */
static int read_target(void *unused)
{
	uint64_t count;
	int error = pm_read_count(watching, &count);

	(void)unused;
	return error ? error : (int)(count & 0xffffff);
}

static int open_self(void *unused)
{
	struct perf_event_attr attr = attr_counter(false);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	(void)unused;
	if (fd >= 0)
		close(fd);
	return fd;
}

static int become_stranger(void *unused)
{
	int error = drop_privileges(65531);

	(void)unused;
	prctl(PR_SET_DUMPABLE, 1);	/* changing ids has cleared it */
	return error;
}

static int become_hidden(void *unused)
{
	(void)unused;
	return prctl(PR_SET_DUMPABLE, 0) < 0 ? -errno : 0;
}

/* A child without any privilege that may open at least an event on itself, watching `target`. */
static void start_stranger(struct worker *stranger)
{
	struct perf_event_attr attr = attr_counter(false);
	struct finding finding;
	int fd;

	must_start_worker(stranger, WORKER_CHILD);
	ASSERT_EQ(0, worker_do(stranger, become_stranger, NULL));
	fd = worker_do(stranger, open_self, NULL);
	if (fd < 0 && probe_env()->paranoid > 2)
		say_blocked("perf_event_paranoid=%d refuses an unprivileged task any event",
			    probe_env()->paranoid);
	if (fd < 0) {
		classify_setup(-fd, &attr, 0, -1, &finding);
		say(&finding);
	}
}

TEST(same_user)
{
	struct worker watched, opener;
	int fd, before, gain;

	must_start_worker(&watched, WORKER_CHILD);
	ASSERT_EQ(0, worker_do(&watched, become_stranger, NULL));
	target = watched.tid;
	start_stranger(&opener);
	fd = worker_do(&opener, open_target, NULL);
	if (fd < 0)
		say_broken("errno=%s for a dumpable task of the same user", pm_errno_name(fd));
	ASSERT_EQ(0, worker_faults(&watched, 1));
	before = worker_do(&opener, read_target, NULL);
	ASSERT_EQ(0, worker_faults(&watched, 9));
	gain = worker_do(&opener, read_target, NULL) - before;
	worker_stop(&opener);
	worker_stop(&watched);
	if (before < 0 || gain != 9)
		say_broken("watched: counted=%d of 9 faults (%s before)", gain,
			   pm_errno_name(before < 0 ? before : 0));
}

/* A task of somebody else: a child that stays root, or else the first process. */
static pid_t somebody_else(struct worker *worker)
{
	struct stat first;

	if (geteuid() == 0) {
		must_start_worker(worker, WORKER_CHILD);
		return worker->tid;
	}
	if (stat("/proc/1", &first) < 0 || first.st_uid == getuid())
		say_absent("no task of another user to be seen");
	return 1;
}

TEST(other_user)
{
	struct worker watched, opener;
	int fd;

	target = somebody_else(&watched);
	start_stranger(&opener);
	fd = worker_do(&opener, open_target, NULL);
	worker_dismiss(&opener);
	if (fd >= 0)
		say_broken("accepted: another user's task is watched without privilege");
	expect_refused(fd, EACCES, BROKEN, "another user's task");
}

TEST(not_dumpable)
{
	struct worker watched, opener;
	int before, after;

	must_start_worker(&watched, WORKER_CHILD);
	ASSERT_EQ(0, worker_do(&watched, become_stranger, NULL));
	target = watched.tid;
	start_stranger(&opener);
	before = worker_do(&opener, open_target, NULL);
	ASSERT_EQ(0, worker_do(&watched, become_hidden, NULL));
	after = worker_do(&opener, open_target, NULL);
	worker_stop(&opener);
	if (before < 0)
		say_unknown("refused while still dumpable: %s", pm_errno_name(before));
	if (after != -EACCES)
		say_broken("errno=%s want=EACCES", pm_errno_name(after < 0 ? after : 0));
}

PROBE_MAIN
