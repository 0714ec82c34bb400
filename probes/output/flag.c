/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does PERF_FLAG_FD_OUTPUT redirect an event as it is opened? Manuals call it broken since v2.6.35,
 * when it began to ask for a target that is mapped already. From v2.6.38 on, a target on any CPU
 * was refused, because the new event had no context yet that could be compared with the target's.
 * Observed: records in the target's ring, the members of the target's group, and the errno where
 * the target has no ring or belongs to another task. Where a target on any CPU is refused, one on a
 * single CPU is tried, too.
 * Linux ac9721f3f54b ("perf_events: Fix races and clean up perf_event and perf_mmap_data
 * interaction") (v2.6.35)
 * Linux 24d3ae2f37d8 ("perf/core: Fix the same task check in perf_event_set_output") (v6.3)
 */
#include "probe.h"
#include "finding.h"

PROBE(TITLE("redirecting output while opening")
      SINCE("6.3")
      COMMIT("24d3ae2f37d8")
      POINT(reaches_mapped_target, "FD_OUTPUT with FD_NO_GROUP redirects, and joins no group")
      POINT(flag_alone, "FD_OUTPUT alone redirects, and makes the target the group's leader")
      POINT(unmapped_target_is_refused, "EINVAL for a target without a ring")
      POINT(other_task_is_refused, "EINVAL for a target of another task")
      POINT(no_target, "both flags without a descriptor are accepted and ignored")
      SINCE("2.6.35")
      COMMIT("ac9721f3f54b")
      POINT(one_cpu, "FD_OUTPUT with FD_NO_GROUP redirects an event of this task on one CPU")
      SINCE("2.6.35")
      COMMIT("ac9721f3f54b"))

#define BOTH (PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP)

static struct perf_event_attr plain;

FIXTURE(target)
{
	struct sampler sampler;
};

FIXTURE_SETUP(target)
{
	plain = attr_faults(PERF_SAMPLE_TID);
	plain.read_format = PERF_FORMAT_GROUP;
	self->sampler = must_sampler(&plain, 0, -1, 1);
}

FIXTURE_TEARDOWN(target)
{
	close(self->sampler.fd);
}

/* On any CPU it is refused, with a mapped target of the same task. */
static noreturn void say_refused(int error, unsigned long flags)
{
	const int cpu = move_to_nth_cpu(0);
	struct sampler target;
	struct finding finding;
	int fd;

	if (error != -EINVAL || cpu < 0) {
		classify_setup(-error, &plain, 0, -1, &finding);
		say(&finding);
	}
	target = must_sampler(&plain, 0, cpu, 1);
	fd = pm_open(&plain, 0, cpu, target.fd, flags);
	if (fd >= 0)
		say_no("EINVAL with a target on any CPU, ok with one on a single CPU");
	classify_asked(EINVAL, "FD_OUTPUT and a mapped target", &plain, 0, -1, &finding);
	say(&finding);
}

/* An event that is opened into a mapped target of this task. */
static int ask_open_into(int target, unsigned long flags)
{
	int fd = pm_open(&plain, 0, -1, target, flags);

	if (fd < 0)
		say_refused(fd, flags);
	return fd;
}

static uint64_t count_members(int leader)
{
	return must_counts(leader, PERF_FORMAT_GROUP).nr;
}

TEST_F(target, reaches_mapped_target)
{
	int source = ask_open_into(self->sampler.fd, BOTH), found;
	uint64_t members;

	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	found = samples_of_faults(&self->sampler, NULL, 9);
	members = count_members(self->sampler.fd);
	if (found != 9 || members != 1)
		say_broken("samples=%d want=9, members=%" PRIu64 " want=1", found, members);
}

TEST_F(target, flag_alone)
{
	uint64_t members;
	int found;

	plain.disabled = 0;
	ask_open_into(self->sampler.fd, PERF_FLAG_FD_OUTPUT);
	members = count_members(self->sampler.fd);
	if (members != 2)
		say_broken("members=%" PRIu64 " want=2: the target did not become the leader",
			   members);
	found = samples_of_faults(&self->sampler, NULL, 9);
	if (found)
		say_broken("samples=%d while the leader is disabled, want=0", found);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	found = samples_of_faults(&self->sampler, NULL, 9);
	if (found != 18)
		say_broken("samples=%d want=9 of the leader and 9 of the member", found);
}

TEST_F(target, unmapped_target_is_refused)
{
	int unmapped;

	ask_open_into(self->sampler.fd, PERF_FLAG_FD_OUTPUT);
	ask_open_into(self->sampler.fd, BOTH);
	unmapped = must_open(&plain, 0, -1, -1, 0);
	expect_refused(pm_open(&plain, 0, -1, unmapped, PERF_FLAG_FD_OUTPUT), EINVAL, BROKEN,
		       "FD_OUTPUT with a target without a ring");
	expect_refused(pm_open(&plain, 0, -1, unmapped, BOTH), EINVAL, BROKEN,
		       "both flags with a target without a ring");
}

TEST_F(target, other_task_is_refused)
{
	struct worker other;

	ask_open_into(self->sampler.fd, BOTH);
	must_start_worker(&other, WORKER_THREAD);
	close(must_open(&plain, other.tid, -1, -1, 0));
	expect_refused(pm_open(&plain, other.tid, -1, self->sampler.fd, BOTH), EINVAL, BROKEN,
		       "a target of another task");
	worker_dismiss(&other);
}

TEST_F(target, no_target)
{
	int fd;

	plain.read_format = 0;
	close(must_open(&plain, 0, -1, -1, 0));
	fd = pm_open(&plain, 0, -1, -1, BOTH);
	if (fd == -EBADF || fd == -EINVAL)
		say_no("%s with both flags and no descriptor, ok without", pm_errno_name(fd));
	if (fd < 0)
		say_unknown("%s with both flags and no descriptor", pm_errno_name(fd));
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, 16, 16);
}

TEST_F(target, one_cpu)
{
	const int cpu = move_to_nth_cpu(0);
	struct sampler target;
	int source, found;

	if (cpu < 0)
		say_unknown("no CPU to stay on");
	target = must_sampler(&plain, 0, cpu, 1);
	source = pm_open(&plain, 0, cpu, target.fd, BOTH);
	if (source < 0) {
		struct finding finding;

		close(must_open(&plain, 0, cpu, -1, 0));
		classify_asked(-source, "FD_OUTPUT and a mapped target", &plain, 0, cpu, &finding);
		say(&finding);
	}
	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	found = samples_of_faults(&target, NULL, 9);
	if (found != 9)
		say_broken("samples=%d want=9", found);
}

PROBE_MAIN
