/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the group of another task be read, while it lives and after its end? Monitors watch
 * children and threads by groups.
 * Observed: a child, then a thread, causes an exact number of page faults; the group read of the
 * watcher holds it in every member. Before v2.6.34 such reads were wrong.
 */
#include "probe.h"

PROBE(TITLE("group read of another task")
      SINCE("2.6.34")
      POINT(child.alive, "every member has the exact count of a living child")
      POINT(child.ended, "every member has the exact count of a child that has ended")
      POINT(thread.alive, "every member has the exact count of a living thread")
      POINT(thread.ended, "every member has the exact count of a thread that has ended"))

#define FAULTS 17
#define FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED)

FIXTURE(attached)
{
	struct worker worker;
	int leader;
};

FIXTURE_VARIANT(attached)
{
	enum worker_kind kind;
};
FIXTURE_VARIANT_ADD(attached, child)
{
	.kind = WORKER_CHILD,
};
FIXTURE_VARIANT_ADD(attached, thread)
{
	.kind = WORKER_THREAD,
};

FIXTURE_SETUP(attached)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int error;

	attr.read_format = FORMAT;
	must_start_worker(&self->worker, variant->kind);
	self->leader = must_open(&attr, self->worker.tid, -1, -1, 0);
	attr.disabled = 0;
	must_open(&attr, self->worker.tid, -1, self->leader, 0);
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	must_open(&attr, self->worker.tid, -1, self->leader, 0);
	must_ioctl(self->leader, PERF_EVENT_IOC_ENABLE, 0);
	error = worker_faults(&self->worker, FAULTS);
	if (error)
		say_unknown("no page faults: %s", pm_errno_name(error));
}

FIXTURE_TEARDOWN(attached)
{
	worker_stop(&self->worker);
}

static void judge(int leader)
{
	struct pm_counts counts = { .nr = 0 };
	int error = pm_read_counts(leader, FORMAT, &counts);

	if (error)
		say_broken("group read: %s", pm_errno_name(error));
	if (counts.nr != 3)
		say_broken("nr=%" PRIu64 " want=3", counts.nr);
	for (int i = 0; i < 3; i++)
		if (counts.member[i].value != FAULTS)
			say_broken("member %d: counted=%" PRIu64 " want=%d", i,
				   counts.member[i].value, FAULTS);
}

TEST_F(attached, alive)
{
	judge(self->leader);
}

TEST_F(attached, ended)
{
	must_ioctl(self->leader, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, worker_stop(&self->worker));
	judge(self->leader);
}

PROBE_MAIN
