/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which single capability lets a task watch those of other users?
 *
 * Watching a task takes the permission to read it by ptrace(2), checked for the real user;
 * CAP_PERFMON alone is enough since v5.9. attach.other_task asks about one's own tasks,
 * attach.other_user about tasks that are not dumpable.
 */
#include "probe.h"
#include "privilege.h"

PROBE(TITLE("the right to watch a task")
      SINCE("2.6.31")
      POINT(other_user, "a task of another user is EACCES without capabilities")
      POINT(perfmon, "a task of another user can be watched with CAP_PERFMON alone, and is "
	    "counted")
      SINCE("5.9")
      COMMIT("45fd22da97c6")
      POINT(ptrace, "a task of another user can be watched with CAP_SYS_PTRACE alone, and is "
	    "counted")
      SINCE("2.6.31"))

static struct worker theirs;
static pid_t target = 1;

static int watch(void)
{
	struct perf_event_attr attr = attr_counter(false);

	return pm_open(&attr, target, -1, -1, 0);
}

/* A task of another user: a child that stays root's, or for others the first process. */
static void foreign(uint64_t keep)
{
	must_open_plain();
	if (geteuid() == 0) {
		must_start_worker(&theirs, WORKER_CHILD);
		target = theirs.tid;
	}
	if (keep && pm_in_user_namespace())
		say_blocked("capabilities of a user namespace do not count");
	if (kill(target, 0) < 0 && errno != EPERM)
		say_absent("process %d is not to be seen here", (int)target);
	if (drop_to(keep) < 0)
		say_blocked("needs to hold capabilities %#" PRIx64, keep);
	if (kill(target, 0) == 0)
		say_absent("process %d is of the same user", (int)target);
	must_open_plain();	/* at a level of 3 every event is refused, and not that task */
}

/* Nobody can make the first process do anything. */
static void expect_watched(int fd)
{
	if (target != 1)
		expect_gain(fd, &theirs, 6, 6);
}

TEST(other_user)
{
	foreign(0);
	expect_refused(watch(), EACCES, BROKEN, "a task of another user");
}

TEST(perfmon)
{
	int answer;

	if (probe_env()->cap_last >= 0 && probe_env()->cap_last < PM_CAP_PERFMON)
		say_no("the highest capability known here is %d", probe_env()->cap_last);
	foreign(1ull << PM_CAP_PERFMON);
	answer = watch();
	if (answer == -EACCES)
		say_no("EACCES for a task of another user, ok for one's own");
	if (answer < 0)
		say_unknown("a task of another user: %s", pm_errno_name(answer));
	expect_watched(answer);
}

TEST(ptrace)
{
	int answer;

	foreign(1ull << PM_CAP_SYS_PTRACE);
	answer = watch();
	if (answer == -EACCES)
		say_blocked("EACCES with CAP_SYS_PTRACE: a security module or a namespace");
	if (answer < 0)
		say_unknown("a task of another user: %s", pm_errno_name(answer));
	expect_watched(answer);
}

PROBE_MAIN
