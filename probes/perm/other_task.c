/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks may be watched: one's own, those of others, those that may not be dumped?
 *
 * The right to watch a task is the right to read it by ptrace(2), of the real user; CAP_PERFMON
 * alone is enough since v5.9. A task that made itself undumpable is nobody's to watch.
 */
#include "probe.h"

#include <sys/prctl.h>

PROBE(TITLE("the right to watch a task")
      SINCE("2.6.31")
      POINT(own_child, "a child of the same user can be watched")
      POINT(undumpable, "a child of the same user that is not dumpable is EACCES")
      POINT(other_user, "a task of another user is EACCES without capabilities")
      POINT(perfmon, "a task of another user can be watched with CAP_PERFMON alone")
      SINCE("5.9")
      COMMIT("45fd22da97c6")
      POINT(ptrace, "a task of another user can be watched with CAP_SYS_PTRACE alone")
      SINCE("2.6.31")
      POINT(no_task, "a task that does not exist is ESRCH"))

static struct gate ready;

static int sleeper(void *undumpable)
{
	if (undumpable)
		prctl(PR_SET_DUMPABLE, 0);
	gate_open(&ready);
	pause();
	return 0;
}

static pid_t start_sleeper(struct __test_metadata *_metadata, bool undumpable)
{
	pid_t child;

	ASSERT_EQ(0, gate_init(&ready));
	child = start_child(sleeper, undumpable ? &ready : NULL);
	ASSERT_GT(child, 0);
	gate_wait(&ready);
	return child;
}

static int watch(pid_t task)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	return pm_open(&attr, task, -1, -1, 0);
}

static void own(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
}

TEST(own_child)
{
	int answer;

	own(_metadata);
	answer = watch(start_sleeper(_metadata, false));
	if (answer < 0)
		broken("a child of one's own: errno=%s", errno_name(answer));
}

TEST(undumpable)
{
	own(_metadata);
	ASSERT_EQ(0, drop_to(0));
	prctl(PR_SET_DUMPABLE, 1);		/* a change of user took it away */
	close(watch(start_sleeper(_metadata, false)));
	hold_rule(watch(start_sleeper(_metadata, true)), EACCES, BROKEN,
		  "a child that is not dumpable");
}

/* A task of another user: root's first process, or, for root, the same seen by nobody. */
static void foreign(struct __test_metadata *_metadata, uint64_t keep)
{
	own(_metadata);
	if (kill(1, 0) < 0 && errno != EPERM)
		say_absent("process 1 is not to be seen here");
	if (drop_to(keep) < 0)
		say_blocked("needs to hold capabilities %#" PRIx64, keep);
	if (kill(1, 0) == 0)
		say_absent("process 1 is of the same user");
}

TEST(other_user)
{
	foreign(_metadata, 0);
	hold_rule(watch(1), EACCES, BROKEN, "a task of another user");
}

TEST(perfmon)
{
	int answer;

	if (probe_env()->cap_last >= 0 && probe_env()->cap_last < PM_CAP_PERFMON)
		say_no("the highest capability known here is %d", probe_env()->cap_last);
	foreign(_metadata, 1ull << PM_CAP_PERFMON);
	answer = watch(1);
	if (answer == -EACCES)
		say_no("EACCES for a task of another user, ok for one's own");
	if (answer < 0)
		cannot_tell("a task of another user: %s", errno_name(answer));
}

TEST(ptrace)
{
	int answer;

	foreign(_metadata, 1ull << PM_CAP_SYS_PTRACE);
	answer = watch(1);
	if (answer == -EACCES)
		say_blocked("EACCES with CAP_SYS_PTRACE: a security module or a namespace");
	if (answer < 0)
		cannot_tell("a task of another user: %s", errno_name(answer));
}

TEST(no_task)
{
	own(_metadata);
	hold_rule(watch(0x3fffffff), ESRCH, BROKEN, "a task that does not exist");
}

PROBE_MAIN
