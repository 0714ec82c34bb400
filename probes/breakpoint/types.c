/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which values of bp_type are refused? A tool that mixes execution with data access must learn of
 * its mistake.
 * Observed: EINVAL for no access, for execution together with data, for unknown bits, and for a
 * length of 0.
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("types of breakpoints that are refused")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(no_access, "a breakpoint with bp_type 0 is refused with EINVAL")
      POINT(execute_and_read, "a breakpoint with bp_type X|R is refused with EINVAL")
      POINT(execute_and_write, "a breakpoint with bp_type X|W is refused with EINVAL")
      POINT(everything, "a breakpoint with bp_type X|RW is refused with EINVAL")
      POINT(unknown_bit, "a breakpoint with bp_type 8 is refused with EINVAL")
      POINT(zero_length, "a breakpoint of length 0 is refused with EINVAL"))

static volatile int32_t cell __attribute__((aligned(8)));

static void refuse(uint32_t type, uint64_t length)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.bp_type = type;
	attr.bp_len = length;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "such a breakpoint");
}

TEST(no_access)
{
	refuse(HW_BREAKPOINT_EMPTY, 4);
}

TEST(execute_and_read)
{
	refuse(HW_BREAKPOINT_X | HW_BREAKPOINT_R, 4);
}

TEST(execute_and_write)
{
	refuse(HW_BREAKPOINT_X | HW_BREAKPOINT_W, 4);
}

TEST(everything)
{
	refuse(HW_BREAKPOINT_INVALID, 4);
}

TEST(unknown_bit)
{
	refuse(8, 4);
}

TEST(zero_length)
{
	refuse(HW_BREAKPOINT_W, 0);
}

PROBE_MAIN
