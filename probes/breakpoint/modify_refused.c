/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which changes of a breakpoint are refused? A debugger must know what it can change in place, and
 * that a refused change leaves the breakpoint as it was. Observed: the answer to each wrong change,
 * after a right one has been accepted here, and hits after a refusal.
 */
#include "probe.h"
#include "bp_modify.h"
#include "breakpoint.h"

PROBE(TITLE("refused changes of a breakpoint")
      SINCE("4.17")
      COMMIT("32ff77e8cc9e")
      NEEDS("breakpoint")
      POINT(other_field, "MODIFY_ATTRIBUTES of anything but address, type, length and disabled is "
	    "EINVAL")
      POINT(other_type, "MODIFY_ATTRIBUTES to another type of event is EINVAL")
      POINT(other_event, "MODIFY_ATTRIBUTES of an event that is no breakpoint is EOPNOTSUPP")
      POINT(bad_length, "MODIFY_ATTRIBUTES to an impossible length is EINVAL, and the old "
	    "breakpoint still counts")
      POINT(bad_pointer, "MODIFY_ATTRIBUTES with an unreadable attr is EFAULT"))

/* There are changes at all. The test's own breakpoint comes later: a machine may have one alone. */
static void must_change(void)
{
	struct perf_event_attr right = second();
	const int fd = open_first();

	must_modify(fd, &right);
	close(fd);
}

static void refuse(int fd, const struct perf_event_attr *wrong, int want)
{
	const int error = wrong ? modify_breakpoint(fd, wrong)
				: pm_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 0);

	if (error != -want)
		say_broken("errno=%s want=%s", pm_errno_name(error), pm_errno_name(want));
}

TEST(other_field)
{
	struct perf_event_attr attr = second();

	must_change();
	attr.sample_period = 12345;
	refuse(open_first(), &attr, EINVAL);
}

TEST(other_type)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	must_change();
	refuse(open_first(), &attr, EINVAL);
}

TEST(other_event)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	must_change();
	refuse(must_open(&attr, 0, -1, -1, 0), &attr, EOPNOTSUPP);
}

TEST(bad_length)
{
	struct perf_event_attr attr = second();
	int fd;

	must_change();
	fd = open_first();
	attr.bp_len = 0;
	refuse(fd, &attr, EINVAL);
	write_cell(0, 5);
	expect_count(fd, 5);
}

TEST(bad_pointer)
{
	must_change();
	refuse(open_first(), NULL, EFAULT);
}

PROBE_MAIN
