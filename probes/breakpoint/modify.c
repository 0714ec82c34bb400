/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a breakpoint be moved without closing it? A tool that walks an array with 4 registers needs
 * that: the count goes on and the slot cannot be lost. Observed: exact hits at the old and the new
 * address, and after a change of kind.
 * Linux 32ff77e8cc9e ("perf/core: Implement fast breakpoint modification via
 * _IOC_MODIFY_ATTRIBUTES") (v4.17)
 */
#include "probe.h"
#include "bp_modify.h"
#include "breakpoint.h"

PROBE(TITLE("changing a breakpoint by MODIFY_ATTRIBUTES")
      SINCE("4.17")
      COMMIT("32ff77e8cc9e")
      NEEDS("breakpoint")
      POINT(address, "after MODIFY_ATTRIBUTES a breakpoint counts at its new address only")
      POINT(keeps_count, "MODIFY_ATTRIBUTES keeps the count of a breakpoint")
      POINT(kind, "MODIFY_ATTRIBUTES changes W into RW, and reads count from then on")
      POINT(stops, "MODIFY_ATTRIBUTES with attr.disabled stops a breakpoint")
      FACT(size_must_match, bool, "-", "MODIFY_ATTRIBUTES with another attr.size than at open is "
	    "refused with EINVAL"))

static volatile int32_t sink;

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
	int fd = open_first();
	uint64_t old, new;

	must_modify(fd, &attr);
	write_cell(0, 5);
	old = must_count(fd);
	write_cell(2, 7);
	new = must_count(fd) - old;
	if (old != 0 || new != 7)
		say_broken("old address=%" PRIu64 " want=0, new address=%" PRIu64 " want=7", old,
			   new);
	try_other_size(fd);
}

TEST(keeps_count)
{
	struct perf_event_attr attr = second();
	int fd = open_first();

	write_cell(0, 5);
	must_modify(fd, &attr);
	write_cell(2, 7);
	expect_count(fd, 12);
}

TEST(kind)
{
	struct perf_event_attr attr = second();
	int fd = open_first();

	attr.bp_type = HW_BREAKPOINT_RW;
	must_modify(fd, &attr);
	write_cell(2, 7);
	for (int i = 0; i < 5; i++)
		sink = cells[2];
	expect_count(fd, 12);
}

TEST(stops)
{
	struct perf_event_attr attr = second();
	int fd = open_first();

	attr.disabled = 1;
	write_cell(0, 3);
	must_modify(fd, &attr);
	write_cell(0, 5);
	write_cell(2, 7);
	expect_count(fd, 3);
}

PROBE_MAIN
