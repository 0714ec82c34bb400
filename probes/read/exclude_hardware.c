/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the exclude bits leave out of hardware counts what they name? A counter that silently ignores
 * exclude_kernel tells of other things than its reader thinks.
 * Observed: instructions of a loop in user mode and of a stretch of system calls, with each bit.
 * One event is open at a time, as there may be one counter, and what it gained is taken from a
 * stretch in which it had that counter all the time.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("exclude bits of hardware events")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(user, "exclude_user leaves out a loop in user mode")
      POINT(kernel, "exclude_kernel leaves out system calls")
      POINT(hv, "exclude_hv is taken, and a loop in user mode still counts")
      POINT(idle, "exclude_idle is taken, and a loop in user mode still counts"))

#define LOOPS 20000
#define FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

FIXTURE(exclude)
{
	struct perf_event_attr plain;
};

FIXTURE_SETUP(exclude)
{
	must_have_counters();
	self->plain = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	self->plain.disabled = 0;
	self->plain.read_format = FORMAT;
	self->plain.exclude_hv = 0;
}

FIXTURE_TEARDOWN(exclude)
{
}

static void loop(void)
{
	for (volatile int i = 0; i < LOOPS; i++)
		;
}

static void call(void)
{
	for (int i = 0; i < LOOPS / 20; i++)
		getppid();
}

/* What an event gains by a piece of work during which it runs all the time. It is closed. */
static uint64_t gain_by(void (*work)(void), int fd)
{
	struct pm_counts before, after;

	for (int tries = 0; tries < 20; tries++) {
		before = must_counts(fd, FORMAT);
		work();
		after = must_counts(fd, FORMAT);
		if (after.time_running - before.time_running <
		    after.time_enabled - before.time_enabled)
			continue;	/* others have the counter for a part of it */
		must_close(fd);
		return after.member[0].value - before.member[0].value;
	}
	must_have_run();
	say_unknown("others use the counter in each of 20 stretches of work");
}

TEST_F(exclude, user)
{
	struct perf_event_attr with = self->plain;
	uint64_t left, all;

	with.exclude_user = 1;
	left = gain_by(loop, ask_open(&with, &self->plain, 0, -1, "exclude_user"));
	all = gain_by(loop, must_open(&self->plain, 0, -1, -1, 0));
	if (!all) {
		must_have_run();
		say_broken("nothing is counted without the bit either");
	}
	if (left > all / 10)
		say_broken("counted=%" PRIu64 " with exclude_user, %" PRIu64 " without", left, all);
}

static void want_loop(int fd)
{
	const uint64_t gain = gain_by(loop, fd);

	if (!gain)
		must_have_run();
	if (gain < LOOPS)
		say_broken("counted=%" PRIu64 " want=%d and more", gain, LOOPS);
}

/* The same system calls must count for more where the kernel is not left out. */
TEST_F(exclude, kernel)
{
	struct perf_event_attr both = self->plain;
	uint64_t without, with;

	if (!self->plain.exclude_kernel)
		say_absent("this PMU cannot leave anything out");
	want_loop(must_open(&self->plain, 0, -1, -1, 0));
	without = gain_by(call, must_open(&self->plain, 0, -1, -1, 0));
	both.exclude_kernel = 0;
	with = gain_by(call, must_open(&both, 0, -1, -1, 0));
	if (with < without + LOOPS / 20 * 20)
		say_broken("system calls: %" PRIu64 " instructions without the kernel, %" PRIu64
			   " with it", without, with);
}

TEST_F(exclude, hv)
{
	struct perf_event_attr with = self->plain;

	with.exclude_hv = 1;
	want_loop(ask_open(&with, &self->plain, 0, -1, "exclude_hv"));
}

TEST_F(exclude, idle)
{
	struct perf_event_attr with = self->plain;

	with.exclude_idle = 1;
	want_loop(ask_open(&with, &self->plain, 0, -1, "exclude_idle"));
}

PROBE_MAIN
