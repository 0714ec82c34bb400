/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the exclude bits leave out what they name, and nothing else? A counter that drops everything
 * reads zero, and nobody knows why.
 * Observed: exact counts of page faults of user mode, with each bit.
 */
#include "probe.h"

PROBE(TITLE("exclude bits of software events")
      SINCE("2.6.31")
      POINT(user, "exclude_user leaves out page faults of user mode")
      POINT(kernel, "exclude_kernel keeps page faults of user mode")
      POINT(hv, "exclude_hv keeps page faults of user mode")
      POINT(idle, "exclude_idle keeps page faults of user mode"))

#define FAULTS 9

static struct perf_event_attr plain(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.exclude_hv = 0;
	return attr;
}

static void want(int fd, unsigned int faults)
{
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(fd, NULL, FAULTS, faults);
}

/* With both user and kernel excluded there is nothing left, and no privilege is needed. */
TEST(user)
{
	const struct perf_event_attr without = plain();
	struct perf_event_attr with = without;
	int fd, control;

	with.exclude_user = 1;
	fd = ask_open(&with, &without, 0, -1, "exclude_user");
	control = must_open(&without, 0, -1, -1, 0);
	want(control, FAULTS);
	want(fd, 0);
}

TEST(kernel)
{
	const struct perf_event_attr attr = plain();

	want(must_open(&attr, 0, -1, -1, 0), FAULTS);
}

TEST(hv)
{
	const struct perf_event_attr without = plain();
	struct perf_event_attr with = without;

	with.exclude_hv = 1;
	want(ask_open(&with, &without, 0, -1, "exclude_hv"), FAULTS);
}

TEST(idle)
{
	const struct perf_event_attr without = plain();
	struct perf_event_attr with = without;

	with.exclude_idle = 1;
	want(ask_open(&with, &without, 0, -1, "exclude_idle"), FAULTS);
}

PROBE_MAIN
