/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does each ioctl of an event refuse a wrong argument with the errno that is its own?
 *
 * An ioctl that swallows nonsense leaves the event in a state that nobody asked for. Each is
 * asked with one wrong argument; where a right one costs nothing it is tried first, so that an
 * unknown ioctl (ENOTTY) is told from a refusal.
 */
#include "probe.h"

PROBE(TITLE("errnos of the ioctls")
      SINCE("2.6.31")
      POINT(id_pointer, "IOC_ID to a bad pointer is EFAULT")
      SINCE("3.12")
      POINT(period_pointer, "IOC_PERIOD from a bad pointer is EFAULT")
      SINCE("2.6.32")
      POINT(period_zero, "IOC_PERIOD of 0 is EINVAL")
      SINCE("2.6.32")
      POINT(period_counting, "IOC_PERIOD on an event that does not sample is EINVAL")
      SINCE("2.6.32")
      POINT(period_sign, "IOC_PERIOD with its top bit set is EINVAL")
      SINCE("3.15")
      POINT(refresh_counting, "IOC_REFRESH on an event that does not sample is EINVAL")
      SINCE("2.6.37")
      POINT(refresh_inherit, "IOC_REFRESH on an event that inherits is EINVAL")
      POINT(output_closed, "IOC_SET_OUTPUT to a descriptor that is not open is EBADF")
      SINCE("2.6.32")
      POINT(output_pipe, "IOC_SET_OUTPUT to a pipe is EBADF")
      SINCE("2.6.32")
      POINT(filter_pointer, "IOC_SET_FILTER from a bad pointer is EFAULT")
      SINCE("4.7")
      POINT(filter_software, "IOC_SET_FILTER on a software event is EINVAL")
      SINCE("2.6.33")
      POINT(bpf_closed, "IOC_SET_BPF of a descriptor that is not open is EBADF")
      SINCE("4.1")
      POINT(pause_unmapped, "IOC_PAUSE_OUTPUT without a ring is EINVAL")
      SINCE("4.7")
      POINT(modify_pointer, "IOC_MODIFY_ATTRIBUTES from a bad pointer is EFAULT")
      SINCE("4.17")
      POINT(modify_software, "IOC_MODIFY_ATTRIBUTES of a software event is EOPNOTSUPP")
      SINCE("4.17"))

static const unsigned long bad_pointer = 8;

static int counting(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	return must_open(&attr, 0, -1, -1, 0);
}

static int sampling(struct __test_metadata *_metadata, bool inherit)
{
	struct perf_event_attr attr = attr_faults(0);

	attr.inherit = inherit;
	attr.sample_period = 1000;
	return must_open(&attr, 0, -1, -1, 0);
}

/* A wrong argument: that errno. ENOTTY, while RESET works: the ioctl is not known. */
static void wrong(struct __test_metadata *_metadata, int fd, unsigned long request,
		  unsigned long argument, int want, const char *what)
{
	struct finding finding;
	int answer = pm_ioctl(fd, request, argument);

	if (answer == -want)
		return;
	must_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	if (answer != -ENOTTY)
		broken("%s: %s, want %s", what, answer < 0 ? errno_name(answer) : "accepted",
		       errno_name(want));
	classify_asked(ENOTTY, what, NULL, 0, -1, &finding);
	speak(&finding);
}

TEST(id_pointer)
{
	wrong(_metadata, counting(_metadata), PERF_EVENT_IOC_ID, bad_pointer, EFAULT, "IOC_ID");
}

TEST(period_pointer)
{
	wrong(_metadata, sampling(_metadata, false), PERF_EVENT_IOC_PERIOD, bad_pointer, EFAULT,
	      "IOC_PERIOD");
}

static void wrong_period(struct __test_metadata *_metadata, int fd, uint64_t period,
			 const char *what)
{
	wrong(_metadata, fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period, EINVAL, what);
}

TEST(period_zero)
{
	wrong_period(_metadata, sampling(_metadata, false), 0, "a period of 0");
}

TEST(period_counting)
{
	wrong_period(_metadata, counting(_metadata), 1, "a period for a counting event");
}

TEST(period_sign)
{
	uint64_t period = 1ull << 63;
	int answer = pm_ioctl(sampling(_metadata, false), PERF_EVENT_IOC_PERIOD,
			      (unsigned long)&period);

	if (answer == 0)
		say_no("a period of 2^63 is accepted");
	wrong_period(_metadata, sampling(_metadata, false), period, "a period of 2^63");
}

TEST(refresh_counting)
{
	wrong(_metadata, counting(_metadata), PERF_EVENT_IOC_REFRESH, 1, EINVAL,
	      "IOC_REFRESH of a counting event");
}

TEST(refresh_inherit)
{
	wrong(_metadata, sampling(_metadata, true), PERF_EVENT_IOC_REFRESH, 1, EINVAL,
	      "IOC_REFRESH of an inheriting event");
}

TEST(output_closed)
{
	wrong(_metadata, sampling(_metadata, false), PERF_EVENT_IOC_SET_OUTPUT, 1000000, EBADF,
	      "IOC_SET_OUTPUT");
}

TEST(output_pipe)
{
	int ends[2];

	ASSERT_EQ(0, pipe(ends));
	wrong(_metadata, sampling(_metadata, false), PERF_EVENT_IOC_SET_OUTPUT, ends[1], EBADF,
	      "IOC_SET_OUTPUT");
}

/* Before v4.7 a software event's filter was refused before it was read. */
TEST(filter_pointer)
{
	int answer = pm_ioctl(counting(_metadata), PERF_EVENT_IOC_SET_FILTER, bad_pointer);

	if (answer == -EINVAL || answer == -ENOENT)
		say_no("%s: the filter is refused without being read", errno_name(answer));
	wrong(_metadata, counting(_metadata), PERF_EVENT_IOC_SET_FILTER, bad_pointer, EFAULT,
	      "IOC_SET_FILTER");
}

TEST(filter_software)
{
	const unsigned long filter = (unsigned long)"a == 1";

	if (pm_ioctl(counting(_metadata), PERF_EVENT_IOC_SET_FILTER, filter) == -ENOENT)
		say_no("ENOENT: no filters in this kernel");
	wrong(_metadata, counting(_metadata), PERF_EVENT_IOC_SET_FILTER, filter, EINVAL,
	      "IOC_SET_FILTER");
}

/* A kernel without BPF may say EINVAL or EOPNOTSUPP to any program. */
TEST(bpf_closed)
{
	int answer = pm_ioctl(counting(_metadata), PERF_EVENT_IOC_SET_BPF, 1000000);

	if (answer == -EINVAL || answer == -EOPNOTSUPP)
		say_no("%s for a descriptor that is not open: no programs in this kernel",
		       errno_name(answer));
	wrong(_metadata, counting(_metadata), PERF_EVENT_IOC_SET_BPF, 1000000, EBADF,
	      "IOC_SET_BPF");
}

TEST(pause_unmapped)
{
	wrong(_metadata, sampling(_metadata, false), PERF_EVENT_IOC_PAUSE_OUTPUT, 1, EINVAL,
	      "IOC_PAUSE_OUTPUT");
}

TEST(modify_pointer)
{
	wrong(_metadata, counting(_metadata), PERF_EVENT_IOC_MODIFY_ATTRIBUTES, bad_pointer,
	      EFAULT, "IOC_MODIFY_ATTRIBUTES");
}

TEST(modify_software)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.size = PERF_ATTR_SIZE_VER5;
	wrong(_metadata, counting(_metadata), PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
	      (unsigned long)&attr, EOPNOTSUPP, "IOC_MODIFY_ATTRIBUTES");
}

PROBE_MAIN
