/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which redirections of output (PERF_EVENT_IOC_SET_OUTPUT) does the kernel refuse? Each rule
 * keeps a ring from being written by two CPUs at once, from two ends, or with times of two clocks;
 * a program that redirects thousands of events must know them beforehand.
 * Observed: a twin that breaks no rule is accepted before each refusal.
 */
#include "probe.h"

PROBE(TITLE("redirections of output that are refused")
      SINCE("2.6.35")
      POINT(itself_is_refused, "EINVAL for an event redirected to itself")
      POINT(other_cpu_is_refused, "EINVAL for events of two different CPUs")
      NEEDS("cpu2")
      POINT(cpu_to_any_is_refused, "EINVAL for an event of one CPU into one of any CPU")
      POINT(other_task_is_refused, "EINVAL for events of two tasks on any CPU")
      POINT(other_clock_is_refused, "EINVAL for events with different clocks")
      SINCE("4.1")
      POINT(other_direction_is_refused, "EINVAL for a ring written backward and an event forward")
      SINCE("4.7")
      POINT(mapped_source_is_refused, "EINVAL for a source that is itself mapped")
      POINT(unmapped_target_is_refused, "EINVAL for a target that was never mapped")
      POINT(once_mapped_target_is_refused, "EINVAL for a target that is mapped no longer")
      POINT(other_file_is_refused, "EBADF for a target that is no perf event")
      POINT(closed_number_is_refused, "EBADF for a target that is no descriptor")
      POINT(detaching_mapped_is_refused, "EINVAL for detaching an event that has its own ring")
      POINT(narrow_minus_one_is_refused, "0xffffffff in 64 bits is EBADF, not a detach"))

static struct perf_event_attr plain;

static int redirect(int source, unsigned long target)
{
	return pm_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target);
}

/* A mapped target, and proof that a source without fault is accepted. */
FIXTURE(target)
{
	struct watch watch;
	int source;
};

FIXTURE_SETUP(target)
{
	plain = attr_faults(PERF_SAMPLE_IP);
	self->watch = must_watch(&plain, 0, -1, 1);
	self->source = must_open(&plain, 0, -1, -1, 0);
	hold_rule(redirect(self->source, self->watch.fd), 0, BROKEN, "a source without fault");
	if (sample_faults(self->source, 5) != 5 ||
	    count_records(&self->watch.ring, PERF_RECORD_SAMPLE) != 5)
		broken("accepted, but 5 page faults are not 5 records in the target");
}

FIXTURE_TEARDOWN(target)
{
	close(self->source);
}

TEST_F(target, itself_is_refused)
{
	hold_rule(redirect(self->source, self->source), EINVAL, BROKEN, "an event to itself");
}

TEST_F(target, other_cpu_is_refused)
{
	int cpus[2], source;
	struct watch target;

	require(REQUIRE_CPU2);
	cpus[1] = move_to_nth_cpu(1);
	cpus[0] = move_to_nth_cpu(0);
	target = must_watch(&plain, 0, cpus[0], 1);
	source = must_open(&plain, 0, cpus[0], -1, 0);
	hold_rule(redirect(source, target.fd), 0, BROKEN, "a source of the same CPU");
	source = must_open(&plain, 0, cpus[1], -1, 0);
	hold_rule(redirect(source, target.fd), EINVAL, BROKEN, "a source of another CPU");
}

TEST_F(target, cpu_to_any_is_refused)
{
	int source = must_open(&plain, 0, move_to_nth_cpu(0), -1, 0);

	hold_rule(redirect(source, self->watch.fd), EINVAL, BROKEN, "a source of one CPU to any");
}

TEST_F(target, other_task_is_refused)
{
	struct worker other;

	must_start(&other, WORKER_THREAD);
	hold_rule(redirect(must_open(&plain, other.tid, -1, -1, 0), self->watch.fd), EINVAL, BROKEN,
		  "a source of another task, any CPU");
	worker_dismiss(&other);
}

TEST_F(target, other_clock_is_refused)
{
	struct perf_event_attr with = plain;

	with.use_clockid = 1;
	with.clockid = CLOCK_MONOTONIC;
	hold_rule(redirect(ask_open(&with, &plain, 0, -1, "use_clockid"), self->watch.fd), EINVAL,
		  BROKEN, "a source with another clock");
}

TEST_F(target, other_direction_is_refused)
{
	struct perf_event_attr with = plain;

	with.write_backward = 1;
	hold_rule(redirect(ask_open(&with, &plain, 0, -1, "write_backward"), self->watch.fd),
		  EINVAL, BROKEN, "a source written backward");
}

TEST_F(target, mapped_source_is_refused)
{
	struct watch source = must_watch(&plain, 0, -1, 1);

	hold_rule(redirect(source.fd, self->watch.fd), EINVAL, BROKEN, "a mapped source");
}

TEST_F(target, unmapped_target_is_refused)
{
	int target = must_open(&plain, 0, -1, -1, 0);

	hold_rule(redirect(self->source, target), EINVAL, BROKEN, "a target without a ring");
}

TEST_F(target, once_mapped_target_is_refused)
{
	pm_ring_close(&self->watch.ring);
	hold_rule(redirect(self->source, self->watch.fd), EINVAL, BROKEN, "a target unmapped now");
}

TEST_F(target, other_file_is_refused)
{
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	hold_rule(redirect(self->source, pipes[0]), EBADF, BROKEN, "a pipe as target");
}

TEST_F(target, closed_number_is_refused)
{
	int number = dup(self->watch.fd);

	hold_rule(redirect(self->source, number), 0, BROKEN, "a duplicate of the target");
	close(number);
	hold_rule(redirect(self->source, number), EBADF, BROKEN, "a closed number as target");
}

TEST_F(target, detaching_mapped_is_refused)
{
	hold_rule(redirect(self->watch.fd, -1ul), EINVAL, BROKEN, "detaching an event with a ring");
}

TEST_F(target, narrow_minus_one_is_refused)
{
	if (sizeof(long) == 4)
		say_absent("a long of this program has 32 bits, so both are the same");
	hold_rule(redirect(self->source, 0xffffffff), EBADF, BROKEN, "0xffffffff as target");
	sample_faults(self->source, 5);
	if (count_records(&self->watch.ring, PERF_RECORD_SAMPLE) != 5)
		broken("refused, yet the redirection is gone");
}

PROBE_MAIN
