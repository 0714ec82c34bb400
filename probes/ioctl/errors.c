/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do ioctls answer when they are wrong: unknown, with a bad pointer, or too early? Libraries
 * probe for features by these errnos.
 * Observed: on an event that was seen to count, so that the answer is about the request alone.
 */
#include "probe.h"
#include "live.h"

PROBE(TITLE("errnos of ioctl")
      SINCE("2.6.31")
      POINT(unknown, "numbers 12, 13 and 200 are ENOTTY")
      POINT(unknown_type, "a request of another driver's type is ENOTTY")
      POINT(id_pointer, "ID with a bad pointer is EFAULT")
      SINCE("3.12")
      POINT(modify_pointer, "MODIFY_ATTRIBUTES with a bad pointer is EFAULT")
      SINCE("4.17")
      POINT(pause_unmapped, "PAUSE_OUTPUT without a mapping is EINVAL")
      SINCE("4.7"))

/* An errno is only an answer where the event as such works. */
static int open_alive(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ID);

	return must_live(&attr);
}

TEST(unknown)
{
	static const unsigned int numbers[] = { 12, 13, 200 };
	int fd = open_alive();

	for (int i = 0; i < 3; i++)
		expect_answer(pm_ioctl(fd, _IO('$', numbers[i]), 0), ENOTTY,
			      "an unknown number");
}

TEST(unknown_type)
{
	expect_answer(pm_ioctl(open_alive(), _IO('T', 1), 0), ENOTTY, "another driver's request");
}

TEST(id_pointer)
{
	expect_answer(pm_ioctl(open_alive(), PERF_EVENT_IOC_ID, 8), EFAULT,
		      "ID with a bad pointer");
}

TEST(modify_pointer)
{
	expect_answer(pm_ioctl(open_alive(), PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 8), EFAULT,
		      "MODIFY_ATTRIBUTES with a bad pointer");
}

TEST(pause_unmapped)
{
	int fd = open_alive(), answer;
	struct pm_ring ring;

	answer = pm_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	expect_answer(answer, EINVAL, "PAUSE_OUTPUT without a mapping");
	must_map(fd, 1, &ring);
	must_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
}

PROBE_MAIN
