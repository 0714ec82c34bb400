/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does PERF_FLAG_FD_OUTPUT redirect an event as it is opened? Manuals call it broken since
 * v2.6.35; it asks for a target that is mapped already.
 * Observed by the records in the target's ring, and by the error without a ring.
 */
#include "probe.h"

PROBE(TITLE("redirecting output while opening")
      SINCE("2.6.35")
      POINT(reaches_mapped_target, "with FD_OUTPUT and FD_NO_GROUP records land in the target")
      POINT(flag_alone, "FD_OUTPUT alone redirects, and makes the target the group's leader")
      POINT(unmapped_target_is_refused, "EINVAL for a target without a ring")
      POINT(other_task_is_refused, "EINVAL for a target of another task"))

static struct perf_event_attr plain;

FIXTURE(target)
{
	struct sampler sampler;
};

FIXTURE_SETUP(target)
{
	plain = attr_faults(PERF_SAMPLE_TID);
	self->sampler = must_sampler(&plain, 0, -1, 1);
}

FIXTURE_TEARDOWN(target)
{
	close(self->sampler.fd);
}

static int open_into(int target, pid_t task)
{
	return pm_open(&plain, task, -1, target, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
}

TEST_F(target, reaches_mapped_target)
{
	int source = open_into(self->sampler.fd, 0);

	if (source < 0)
		expect_refused(source, 0, BROKEN, "a mapped target");
	expect_samples(source, &self->sampler.ring, 9, "redirected as it was opened");
}

TEST_F(target, flag_alone)
{
	struct perf_event_attr member = plain;
	int found, source;

	member.disabled = 0;
	source = pm_open(&member, 0, -1, self->sampler.fd, PERF_FLAG_FD_OUTPUT);
	if (source < 0)
		expect_refused(source, 0, BROKEN, "a mapped target");
	if (gain_of_faults(source, NULL, 9))
		say_broken("counts while its leader is disabled: no member of the group");
	cause_enabled_faults(self->sampler.fd, 9); /* the leader's enable lets the member count */
	found = count_records(&self->sampler.ring, PERF_RECORD_SAMPLE);
	if (found != 18)
		say_broken("records=%d want=9 of the leader and 9 of the member", found);
}

TEST_F(target, unmapped_target_is_refused)
{
	int source = open_into(self->sampler.fd, 0);

	if (source < 0)
		expect_refused(source, 0, BROKEN, "a mapped target");
	expect_refused(open_into(must_open(&plain, 0, -1, -1, 0), 0), EINVAL, BROKEN,
		       "a target without a ring");
}

TEST_F(target, other_task_is_refused)
{
	int source = open_into(self->sampler.fd, 0);
	struct worker other;

	if (source < 0)
		expect_refused(source, 0, BROKEN, "a mapped target");
	must_start_worker(&other, WORKER_THREAD);
	close(must_open(&plain, other.tid, -1, -1, 0));
	expect_refused(open_into(self->sampler.fd, other.tid), EINVAL, BROKEN,
		       "a target of another task");
	worker_dismiss(&other);
}

PROBE_MAIN
