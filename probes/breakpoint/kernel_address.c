/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may watch the kernel's memory? Its addresses are refused to events that exclude the kernel,
 * and to a task without privilege.
 * Observed: the answers to one address that every kernel owns, after the same breakpoint on memory
 * of our own.
 */
#include "probe.h"
#include "breakpoint.h"
#include "privilege.h"

PROBE(TITLE("breakpoints on the kernel")
      SINCE("2.6.33")
      NEEDS("breakpoint")
      POINT(excluded, "a kernel address with exclude_kernel is refused with EINVAL")
      POINT(unprivileged, "a kernel address is refused to a task without privilege")
      FACT(kernel_error, enum, "-", "errno of a task without privilege for a kernel address"))

static volatile int32_t cell __attribute__((aligned(8)));

/* An address in every kernel's half, also in front of a 32-bit program. */
#define KERNEL_ADDRESS (~0xfffull)

TEST(excluded)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.bp_addr = KERNEL_ADDRESS;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "a kernel address");
}

TEST(unprivileged)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cell, 4);
	int error;

	close(must_open(&attr, 0, -1, -1, 0));
	error = ask_unprivileged(&attr, 0, -1);
	if (error == -EACCES || error == -EPERM)
		say_blocked("without privilege there is no breakpoint at all");
	if (error)
		say_unknown("a breakpoint without privilege: %s", pm_errno_name(error));
	attr.bp_addr = KERNEL_ADDRESS;
	attr.exclude_kernel = 0;
	error = ask_unprivileged(&attr, 0, -1);
	if (!error)
		say_broken("accepted: a task without privilege watches the kernel");
	if (error == -ENOSPC)
		say_unknown("somebody else took the last breakpoint (ENOSPC)");
	fact_str("kernel_error", "%s", pm_errno_name(error));
	if (error != -EACCES && error != -EPERM && error != -EINVAL)
		say_broken("errno=%s want=EACCES, EPERM or EINVAL", pm_errno_name(error));
}

PROBE_MAIN
