/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the exclude bits leave out of hardware counts what they name? A counter that silently ignores
 * exclude_kernel tells of other things than its reader thinks.
 * Observed: instructions of a loop in user mode and of a stretch of system calls, with each bit.
 * What is gained is taken from a stretch in which the events had counters all the time; where
 * there is one counter, from a stretch for each.
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
	self->plain = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
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

/* What events gain by a piece of work during which all of them run. They are closed. */
static bool gain_by(void (*work)(void), const int *fds, int count, uint64_t *gains)
{
	struct pm_counts before[2], after[2];
	bool whole = false;

	for (int tries = 0; tries < 20 && !whole; tries++) {
		for (int i = 0; i < count; i++)
			before[i] = must_counts(fds[i], FORMAT);
		work();
		whole = true;
		for (int i = 0; i < count; i++) {
			after[i] = must_counts(fds[i], FORMAT);
			gains[i] = after[i].member[0].value - before[i].member[0].value;
			whole &= after[i].time_running - before[i].time_running >=
				 after[i].time_enabled - before[i].time_enabled;
		}
	}
	for (int i = 0; i < count; i++)
		must_close(fds[i]);
	return whole;
}

static uint64_t gain_alone(void (*work)(void), int fd)
{
	uint64_t gain;

	if (gain_by(work, &fd, 1, &gain))
		return gain;
	must_have_run();
	say_unknown("others use the counter in each of 20 stretches of work");
}

/* The same work, so both at a time where there are counters for that. */
static void gains_of(void (*work)(void), const struct perf_event_attr attrs[2], uint64_t gains[2])
{
	int fds[2];

	for (int i = 0; i < 2; i++)
		fds[i] = must_open(&attrs[i], 0, -1, -1, 0);
	if (gain_by(work, fds, 2, gains))
		return;
	for (int i = 0; i < 2; i++)
		gains[i] = gain_alone(work, must_open(&attrs[i], 0, -1, -1, 0));
}

TEST_F(exclude, user)
{
	struct perf_event_attr attrs[2] = { self->plain, self->plain };
	uint64_t gains[2];

	attrs[0].exclude_user = 1;
	must_close(ask_open(&attrs[0], &self->plain, 0, -1, "exclude_user"));
	gains_of(loop, attrs, gains);
	if (!gains[1]) {
		must_have_run();
		say_broken("nothing is counted without the bit either");
	}
	if (gains[0] > gains[1] / 10)
		say_broken("counted=%" PRIu64 " with exclude_user, %" PRIu64 " without", gains[0],
			   gains[1]);
}

static void want_loop(int fd)
{
	const uint64_t gain = gain_alone(loop, fd);

	if (!gain)
		must_have_run();
	if (gain < LOOPS)
		say_broken("counted=%" PRIu64 " want=%d and more", gain, LOOPS);
}

/* The same system calls must count for more where the kernel is not left out. */
TEST_F(exclude, kernel)
{
	struct perf_event_attr attrs[2] = { self->plain, self->plain };
	uint64_t gains[2];

	if (!self->plain.exclude_kernel)
		say_absent("this PMU cannot leave anything out");
	want_loop(must_open(&self->plain, 0, -1, -1, 0));
	attrs[1].exclude_kernel = 0;
	gains_of(call, attrs, gains);
	if (gains[1] < gains[0] + LOOPS / 20 * 20)
		say_broken("system calls: %" PRIu64 " instructions without the kernel, %" PRIu64
			   " with it", gains[0], gains[1]);
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
