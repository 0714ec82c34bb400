/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are the reserved fields of perf_event_attr refused when they are not zero?
 *
 * Reserved bits that the kernel ignored could never be given a meaning. Some have been given one
 * since, also in stable updates: see attr.aux_action. Each bit is asked by itself, beside an event
 * without it.
 * Linux 697d877849d4 ("perf/core: Start rejecting the syscall with attr.__reserved_2 set") (v5.4)
 */
#include "probe.h"

PROBE(TITLE("the reserved fields of an attr")
      SINCE("4.1")
      POINT(reserved_2, "each of the 16 bits behind sample_max_stack is refused with EINVAL")
      SINCE("5.4")
      COMMIT("697d877849d4")
      POINT(reserved_3, "each of the 29 bits behind aux_action is refused with EINVAL")
      SINCE("5.5"))

static void must_know_version(uint32_t size)
{
	int kernel;

	must_open_plain();
	kernel = pm_attr_size_kernel();
	if (kernel < 0)
		say_unknown("no E2BIG with a size: %s", pm_errno_name(kernel));
	if ((uint32_t)kernel < size)
		say_no("E2BIG: the attr of this kernel has %d bytes, no %u", kernel, size);
}

TEST(reserved_2)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	must_know_version(PERF_ATTR_SIZE_VER5);
	for (unsigned int bit = 0; bit < 16; bit++) {
		attr.__reserved_2 = 1u << bit;
		expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO, "__reserved_2");
	}
}

TEST(reserved_3)
{
	must_know_version(PERF_ATTR_SIZE_VER6);
	for (unsigned int bit = 0; bit < 29; bit++) {
		struct perf_event_attr attr = attr_faults(0);

		attr.__reserved_3 = 1u << bit;
		expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, NO, "__reserved_3");
	}
}

PROBE_MAIN
