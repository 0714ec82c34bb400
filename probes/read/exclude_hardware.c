/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the exclude bits leave out of hardware counts what they name? A counter that silently ignores
 * exclude_kernel tells of other things than its reader thinks.
 * Observed: instructions of a loop in user mode and of a stretch of system calls, with each bit.
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

FIXTURE(exclude)
{
	struct perf_event_attr plain;
};

FIXTURE_SETUP(exclude)
{
	must_have_counters();
	self->plain = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	self->plain.disabled = 0;
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

/* What two counters gain by the same piece of work. */
static void gains_of(const int fds[2], void (*work)(void), uint64_t gains[2])
{
	for (int i = 0; i < 2; i++)
		gains[i] = must_count(fds[i]);
	work();
	for (int i = 0; i < 2; i++)
		gains[i] = must_count(fds[i]) - gains[i];
}

TEST_F(exclude, user)
{
	struct perf_event_attr with = self->plain;
	uint64_t gains[2];
	int fds[2];

	with.exclude_user = 1;
	fds[0] = ask_open(&with, &self->plain, 0, -1, "exclude_user");
	fds[1] = must_open(&self->plain, 0, -1, -1, 0);
	gains_of(fds, loop, gains);
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
	uint64_t before = must_count(fd), gain;

	loop();
	gain = must_count(fd) - before;
	if (!gain)
		must_have_run();
	if (gain < LOOPS)
		say_broken("counted=%" PRIu64 " want=%d and more", gain, LOOPS);
}

/* The same system calls must count for more where the kernel is not left out. */
TEST_F(exclude, kernel)
{
	struct perf_event_attr both = self->plain;
	uint64_t gains[2];
	int fds[2];

	if (!self->plain.exclude_kernel)
		say_absent("this PMU cannot leave anything out");
	fds[0] = must_open(&self->plain, 0, -1, -1, 0);
	want_loop(fds[0]);
	both.exclude_kernel = 0;
	fds[1] = must_open(&both, 0, -1, -1, 0);
	gains_of(fds, call, gains);
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
