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
      POINT(perfmon, "a task of another user can be watched with CAP_PERFMON alone")
      SINCE("5.9")
      COMMIT("45fd22da97c6")
      POINT(ptrace, "a task of another user can be watched with CAP_SYS_PTRACE alone")
      SINCE("2.6.31"))

static int sampler(pid_t task)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	return pm_open(&attr, task, -1, -1, 0);
}

/* A task of another user: root's first process, or, for root, the same seen by nobody. */
static void foreign(uint64_t keep)
{
	must_open_plain();
	if (keep && pm_in_user_namespace())
		say_blocked("capabilities of a user namespace do not count");
	if (kill(1, 0) < 0 && errno != EPERM)
		say_absent("process 1 is not to be seen here");
	if (drop_to(keep) < 0)
		say_blocked("needs to hold capabilities %#" PRIx64, keep);
	if (kill(1, 0) == 0)
		say_absent("process 1 is of the same user");
}

TEST(other_user)
{
	foreign(0);
	expect_refused(sampler(1), EACCES, BROKEN, "a task of another user");
}

TEST(perfmon)
{
	int answer;

	if (probe_env()->cap_last >= 0 && probe_env()->cap_last < PM_CAP_PERFMON)
		say_no("the highest capability known here is %d", probe_env()->cap_last);
	foreign(1ull << PM_CAP_PERFMON);
	answer = sampler(1);
	if (answer == -EACCES)
		say_no("EACCES for a task of another user, ok for one's own");
	if (answer < 0)
		say_unknown("a task of another user: %s", pm_errno_name(answer));
}

TEST(ptrace)
{
	int answer;

	foreign(1ull << PM_CAP_SYS_PTRACE);
	answer = sampler(1);
	if (answer == -EACCES)
		say_blocked("EACCES with CAP_SYS_PTRACE: a security module or a namespace");
	if (answer < 0)
		say_unknown("a task of another user: %s", pm_errno_name(answer));
}

PROBE_MAIN
