/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the exclude bits leave out what they name? A counter that silently ignores exclude_kernel
 * tells of other things than its reader thinks; one that drops everything reads zero.
 * Observed: instructions in user mode, in the kernel and in both, around a loop and a stretch of
 * system calls; for a software event, page faults with and without each bit.
 */
#include "probe.h"

PROBE(TITLE("exclude_user, exclude_kernel, exclude_hv, exclude_idle")
      SINCE("2.6.31")
      POINT(software.user, "exclude_user leaves out page faults of user mode")
      POINT(software.kernel, "exclude_kernel keeps page faults of user mode")
      POINT(software.hv, "exclude_hv keeps page faults of user mode")
      POINT(software.idle, "exclude_idle keeps page faults of user mode")
      POINT(hardware.user, "exclude_user leaves out a loop in user mode")
      NEEDS("pmu")
      POINT(hardware.kernel, "exclude_kernel leaves out system calls")
      NEEDS("pmu")
      POINT(hardware.hv, "exclude_hv is taken, and a loop in user mode still counts")
      NEEDS("pmu")
      POINT(hardware.idle, "exclude_idle is taken, and a loop in user mode still counts")
      NEEDS("pmu"))

#define FAULTS 9
#define LOOPS 20000

FIXTURE(exclude)
{
	struct perf_event_attr plain;
};

FIXTURE_VARIANT(exclude)
{
	bool hardware;
};
FIXTURE_VARIANT_ADD(exclude, software)
{
	.hardware = false,
};
FIXTURE_VARIANT_ADD(exclude, hardware)
{
	.hardware = true,
};

FIXTURE_SETUP(exclude)
{
	require(REQUIRE_PERF | (variant->hardware ? REQUIRE_CPU_PMU : 0));
	self->plain = variant->hardware ?
		      attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS) :
		      attr_software(PERF_COUNT_SW_PAGE_FAULTS);
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

static uint64_t gain_of(struct __test_metadata *_metadata, int fd, void (*deed)(void))
{
	uint64_t before = must_count(fd);

	deed();
	return must_count(fd) - before;
}

static void fault(void)
{
	cause_faults(FAULTS);
}

/* With both user and kernel excluded there is nothing left, and no privilege is needed. */
TEST_F(exclude, user)
{
	struct perf_event_attr with = self->plain;
	uint64_t gain, plain;
	int fd, control;

	with.exclude_user = 1;
	fd = ask_open(&with, &self->plain, 0, -1, "exclude_user");
	control = must_open(&self->plain, 0, -1, -1, 0);
	cause_faults(1);
	gain = gain_of(_metadata, fd, variant->hardware ? loop : fault);
	plain = gain_of(_metadata, control, variant->hardware ? loop : fault);
	if (!plain)
		broken("nothing is counted without the bit either");
	if (gain > plain / 10)
		broken("counted=%" PRIu64 " with exclude_user, %" PRIu64 " without", gain, plain);
}

static void want_user_mode(struct __test_metadata *_metadata, int fd, bool hardware)
{
	uint64_t gain;

	cause_faults(1);
	gain = gain_of(_metadata, fd, hardware ? loop : fault);
	if (hardware ? gain < LOOPS : gain != FAULTS)
		broken("counted=%" PRIu64 " want=%d%s", gain, hardware ? LOOPS : FAULTS,
		       hardware ? " and more" : "");
}

/* The same system calls must count for more where the kernel is not left out. */
TEST_F(exclude, kernel)
{
	struct perf_event_attr both = self->plain;
	int fd = must_open(&self->plain, 0, -1, -1, 0), with_kernel;
	uint64_t user, all;

	want_user_mode(_metadata, fd, variant->hardware);
	if (!variant->hardware)
		return;
	both.exclude_kernel = 0;
	with_kernel = must_open(&both, 0, -1, -1, 0);
	user = gain_of(_metadata, fd, call);
	all = gain_of(_metadata, with_kernel, call);
	if (all < user + LOOPS / 20 * 20)
		broken("system calls: %" PRIu64 " instructions without the kernel, %" PRIu64
		       " with it", user, all);
}

TEST_F(exclude, hv)
{
	struct perf_event_attr with = self->plain;

	with.exclude_hv = 1;
	want_user_mode(_metadata, ask_open(&with, &self->plain, 0, -1, "exclude_hv"),
		       variant->hardware);
}

TEST_F(exclude, idle)
{
	struct perf_event_attr with = self->plain;

	with.exclude_idle = 1;
	want_user_mode(_metadata, ask_open(&with, &self->plain, 0, -1, "exclude_idle"),
		       variant->hardware);
}

PROBE_MAIN
