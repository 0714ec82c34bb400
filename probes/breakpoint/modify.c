/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a breakpoint be moved without closing it? Whoever walks an array with 4 registers wants it:
 * the count goes on and the slot cannot be lost. Observed: exact hits at the old and the new
 * address, what else may change, and what is refused.
 * Linux 32ff77e8cc9e ("perf/core: Implement fast breakpoint modification via
 * _IOC_MODIFY_ATTRIBUTES") (v4.17)
 */
#include "probe.h"

PROBE(TITLE("breakpoints that move")
      SINCE("4.17")
      COMMIT("32ff77e8cc9e")
      NEEDS("breakpoint")
      POINT(address, "after the change only the new address is counted")
      POINT(keeps_count, "the count of before is still there")
      POINT(kind, "W becomes RW: reads count from then on")
      POINT(stops, "attr.disabled set in the change stops the breakpoint")
      POINT(other_field, "a change of anything but address, type, length, disabled is EINVAL")
      POINT(other_type, "a change into another type of event is EINVAL")
      POINT(other_event, "on an event that is no breakpoint it is EOPNOTSUPP")
      POINT(bad_length, "an impossible length is EINVAL, and the old breakpoint still counts")
      POINT(bad_pointer, "an unreadable attr is EFAULT")
      FACT(size_must_match, bool, "-", "another attr.size than at open is refused with EINVAL"))

static volatile int32_t cells[4] __attribute__((aligned(64)));
static volatile int32_t sink;

static int open_first(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cells[0], 4);

	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

static struct perf_event_attr second(void)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cells[2], 4);

	attr.disabled = 0;
	return attr;
}

/* The size counts as an attribute, too: it has to be the one that pm_open() had chosen. */
static int modify(int fd, const struct perf_event_attr *attr)
{
	struct perf_event_attr sized;

	if (attr) {
		sized = *attr;
		sized.size = pm_attr_size_needed(attr);
	}
	return pm_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)(attr ? &sized : NULL));
}

static void must_modify(struct __test_metadata *_metadata, int fd,
			const struct perf_event_attr *attr)
{
	int error = modify(fd, attr);

	if (error == -ENOTTY)
		say_no("ENOTTY: no such ioctl; others work on the same descriptor");
	if (error < 0)
		broken("a legal change: errno=%s", errno_name(error));
}

static void write_cell(int index, int times)
{
	for (int i = 0; i < times; i++)
		cells[index] = i;
}

static void try_other_size(int fd)
{
	struct perf_event_attr attr = second();

	attr.size = PERF_ATTR_SIZE_VER2;
	fact_bool("size_must_match", pm_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
					      (unsigned long)&attr) == -EINVAL);
}

TEST(address)
{
	struct perf_event_attr attr = second();
	int fd = open_first(_metadata);
	uint64_t old, new;

	must_modify(_metadata, fd, &attr);
	write_cell(0, 5);
	old = must_count(fd);
	write_cell(2, 7);
	new = must_count(fd) - old;
	if (old != 0 || new != 7)
		broken("old address=%" PRIu64 " want=0, new address=%" PRIu64 " want=7", old, new);
	try_other_size(fd);
}

TEST(keeps_count)
{
	struct perf_event_attr attr = second();
	int fd = open_first(_metadata);
	uint64_t count;

	write_cell(0, 5);
	must_modify(_metadata, fd, &attr);
	write_cell(2, 7);
	count = must_count(fd);
	if (count != 12)
		broken("counted=%" PRIu64 " want=12", count);
}

TEST(kind)
{
	struct perf_event_attr attr = second();
	int fd = open_first(_metadata);
	uint64_t count;

	attr.bp_type = HW_BREAKPOINT_RW;
	must_modify(_metadata, fd, &attr);
	write_cell(2, 7);
	for (int i = 0; i < 5; i++)
		sink = cells[2];
	count = must_count(fd);
	if (count != 12)
		broken("counted=%" PRIu64 " want=12", count);
}

TEST(stops)
{
	struct perf_event_attr attr = second();
	int fd = open_first(_metadata);
	uint64_t count;

	attr.disabled = 1;
	must_modify(_metadata, fd, &attr);
	write_cell(0, 5);
	write_cell(2, 7);
	count = must_count(fd);
	if (count != 0)
		broken("counted=%" PRIu64 " want=0", count);
}

/* The answer to a wrong change, after a right one has shown that there are changes at all. */
static void refuse(struct __test_metadata *_metadata, int fd, const struct perf_event_attr *wrong,
		   int want)
{
	struct perf_event_attr right = second();
	int error;

	must_modify(_metadata, open_first(_metadata), &right);
	error = modify(fd, wrong);
	if (error != -want)
		broken("errno=%s want=%s", errno_name(error), errno_name(want));
}

TEST(other_field)
{
	struct perf_event_attr attr = second();

	attr.sample_period = 12345;
	refuse(_metadata, open_first(_metadata), &attr, EINVAL);
}

TEST(other_type)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	refuse(_metadata, open_first(_metadata), &attr, EINVAL);
}

TEST(other_event)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	refuse(_metadata, must_open(&attr, 0, -1, -1, 0), &attr, EOPNOTSUPP);
}

TEST(bad_length)
{
	struct perf_event_attr attr = second();
	int fd = open_first(_metadata);
	uint64_t count;

	attr.bp_len = 0;
	refuse(_metadata, fd, &attr, EINVAL);
	write_cell(0, 5);
	count = must_count(fd);
	if (count != 5)
		broken("counted after the refusal=%" PRIu64 " want=5", count);
}

TEST(bad_pointer)
{
	refuse(_metadata, open_first(_metadata), NULL, EFAULT);
}

PROBE_MAIN
