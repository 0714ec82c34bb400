/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May an event join a group whose task has ended? The kernel must refuse; for years it could be
 * talked into linking the new event to a dead group (CVE-2026-74753), so this never runs by
 * default.
 * Observed: the answer to a sibling of a leader on a child that is gone, on a child that is a
 * zombie, and to the same sibling while the child lived.
 */
#include "probe.h"

#include <sys/wait.h>

PROBE(TITLE("joining a group whose task has ended")
      SINCE("2.6.31")
      HAZARD("adding to an exited leader corrupts memory on kernels before 6.12.108")
      POINT(refused, "a new sibling of a leader whose task has ended is refused, whatever task it "
	    "names")
      POINT(enodev, "a new sibling of a leader whose task has ended is refused with ENODEV")
      POINT(still_readable, "a leader whose task has ended keeps its last value")
      FACT(for_itself, enum, "-", "answer to a sibling on the calling task, the leader's task "
	    "having ended")
      FACT(for_the_zombie, enum, "-", "answer to a sibling on the leader's task, which has ended "
	    "and is not yet reaped"))

#define FAULTS 8

FIXTURE(exited_leader)
{
	struct perf_event_attr attr;
	int leader;
	pid_t child;
};

FIXTURE_SETUP(exited_leader)
{
	struct worker worker;
	siginfo_t info;

	self->attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	must_start_worker(&worker, WORKER_CHILD);
	self->child = worker.tid;
	self->leader = must_open(&self->attr, self->child, -1, -1, 0);
	close(must_open(&self->attr, self->child, -1, self->leader, 0));
	must_ioctl(self->leader, PERF_EVENT_IOC_ENABLE, 0);
	if (worker_faults(&worker, FAULTS))
		say_unknown("no page faults");
	must_ioctl(self->leader, PERF_EVENT_IOC_DISABLE, 0);
	worker_dismiss(&worker);
	if (waitid(P_PID, self->child, &info, WEXITED | WNOWAIT) < 0)
		say_unknown("waitid: %s", pm_errno_name(errno));
}

FIXTURE_TEARDOWN(exited_leader)
{
}

TEST_F(exited_leader, refused)
{
	int by_itself = pm_open(&self->attr, 0, -1, self->leader, 0);
	int by_zombie = pm_open(&self->attr, self->child, -1, self->leader, 0);

	fact_str("for_itself", "%s", pm_errno_name(by_itself < 0 ? by_itself : 0));
	fact_str("for_the_zombie", "%s", pm_errno_name(by_zombie < 0 ? by_zombie : 0));
	if (by_itself >= 0 || by_zombie >= 0)
		say_broken("accepted: itself=%d zombie=%d", by_itself, by_zombie);
	close(must_open(&self->attr, 0, -1, -1, 0));
}

TEST_F(exited_leader, enodev)
{
	int fd = pm_open(&self->attr, 0, -1, self->leader, 0);

	if (fd >= 0)
		say_broken("accepted");
	close(must_open(&self->attr, 0, -1, -1, 0));
	if (fd != -ENODEV)
		say_no("refused with %s; the reason is not told apart", pm_errno_name(fd));
}

TEST_F(exited_leader, still_readable)
{
	uint64_t value = must_count(self->leader);

	if (value != FAULTS)
		say_broken("counted=%" PRIu64 " want=%d", value, FAULTS);
	ASSERT_EQ(0, wait_child(self->child));
	value = must_count(self->leader);
	if (value != FAULTS)
		say_broken("counted=%" PRIu64 " want=%d once reaped", value, FAULTS);
}

PROBE_MAIN
