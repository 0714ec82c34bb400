/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May a task watch another one because it is its parent, or because it has the privilege? Observed:
 * exact page faults of a child, and of a child that is not dumpable, which only privilege may
 * watch.
 * Linux 45fd22da97c6 ("perf/core: Take over CAP_SYS_PTRACE creds to CAP_PERFMON capability") (v5.9)
 */
#include "probe.h"
#include "privilege.h"
#include <sys/prctl.h>

PROBE(TITLE("watching other tasks")
      SINCE("2.6.31")
      POINT(child, "a child's 16 faults are 16 counts")
      POINT(privilege_suffices, "with CAP_PERFMON or root a task that is not dumpable is counted")
      SINCE("5.9")
      COMMIT("45fd22da97c6"))

/* Another user where we are root, and not dumpable. */
static int hide(void *unused)
{
	int error = drop_privileges(65531);

	(void)unused;
	return error || prctl(PR_SET_DUMPABLE, 0) == 0 ? error : -errno;
}

TEST(child)
{
	struct perf_event_attr attr = attr_counter(false);
	struct worker child;

	must_start_worker(&child, WORKER_CHILD);
	expect_gain(must_open(&attr, child.tid, -1, -1, 0), &child, 16, 16);
}

TEST(privilege_suffices)
{
	struct perf_event_attr attr = attr_counter(false);
	struct worker watched;
	int fd;

	require(REQUIRE_PERF | REQUIRE_PERFMON);
	must_start_worker(&watched, WORKER_CHILD);
	close(must_open(&attr, watched.tid, -1, -1, 0));
	ASSERT_EQ(0, worker_do(&watched, hide, NULL));
	fd = pm_open(&attr, watched.tid, -1, -1, 0);
	if (fd == -EACCES)
		say_no("EACCES with CAP_PERFMON, ok while the task was dumpable");
	ASSERT_LE(0, fd);
	expect_gain(fd, &watched, 16, 16);
}

PROBE_MAIN
