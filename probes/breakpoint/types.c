/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which values of bp_type mean nothing? A tool that mixes execution with data access must be told.
 * Observed: EINVAL for no access, for execution together with data, and for bits beyond; and that
 * addresses of the kernel are refused to those who may not watch it.
 */
#include "probe.h"

PROBE(TITLE("breakpoints that mean nothing")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(no_access, "EINVAL for bp_type 0")
      POINT(execute_and_read, "EINVAL for X with R")
      POINT(execute_and_write, "EINVAL for X with W")
      POINT(everything, "EINVAL for X with RW")
      POINT(unknown_bit, "EINVAL for bp_type 8")
      POINT(zero_length, "EINVAL for a length of 0")
      POINT(kernel_address, "a kernel address with exclude_kernel is refused with EINVAL")
      POINT(kernel_address_unprivileged, "a kernel address is refused to a task without privilege")
      FACT(kernel_error, enum, "-", "errno of a task without privilege for a kernel address"))

static volatile int32_t cell __attribute__((aligned(8)));

/* An address in every kernel's half, also in front of a 32-bit program. */
#define KERNEL_ADDRESS (~0xfffull)

static void refuse(struct __test_metadata *_metadata, uint32_t type, uint64_t length)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.bp_type = type;
	attr.bp_len = length;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "such a breakpoint");
}

TEST(no_access)
{
	refuse(_metadata, HW_BREAKPOINT_EMPTY, 4);
}

TEST(execute_and_read)
{
	refuse(_metadata, HW_BREAKPOINT_X | HW_BREAKPOINT_R, 4);
}

TEST(execute_and_write)
{
	refuse(_metadata, HW_BREAKPOINT_X | HW_BREAKPOINT_W, 4);
}

TEST(everything)
{
	refuse(_metadata, HW_BREAKPOINT_INVALID, 4);
}

TEST(unknown_bit)
{
	refuse(_metadata, 8, 4);
}

TEST(zero_length)
{
	refuse(_metadata, HW_BREAKPOINT_W, 0);
}

TEST(kernel_address)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.bp_addr = KERNEL_ADDRESS;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "a kernel address");
}

static int open_kernel_address(void *unused)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);
	int fd;

	(void)unused;
	if (drop_privileges(65531))
		return 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return 0;
	attr.bp_addr = KERNEL_ADDRESS;
	attr.exclude_kernel = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	return fd < 0 ? -fd : 200;
}

TEST(kernel_address_unprivileged)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);
	int error;

	close(must_open(&attr, 0, -1, -1, 0));
	error = wait_child(start_child(open_kernel_address, NULL));
	if (error == 200)
		broken("accepted: a task without privilege watches the kernel");
	if (error == 0)
		say_blocked("without privilege there is no breakpoint at all");
	fact_str("kernel_error", "%s", errno_name(error));
	if (error != EACCES && error != EPERM && error != EINVAL)
		broken("errno=%s want=EACCES, EPERM or EINVAL", errno_name(error));
}

PROBE_MAIN
