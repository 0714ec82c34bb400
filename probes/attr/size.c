/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How do a program and a kernel of different age agree on the size of perf_event_attr?
 *
 * The size is the version of the ABI. E2BIG, with the kernel's own size written back, is the only
 * way to learn how old a kernel really is, whatever its release claims. Observed with calls of
 * every size from 0 to the kernel's own; attr.size_beyond asks about larger ones.
 */
#include "probe.h"

PROBE(TITLE("the size of an attr")
      SINCE("2.6.31")
      FACT(kernel, int, "bytes", "sizeof(struct perf_event_attr) that the kernel writes back")
      POINT(zero_is_first_version, "size 0 means the 64 bytes of the first version")
      POINT(small_is_refused, "each size from 1 to 63 answers E2BIG and the kernel's own size")
      POINT(oracle_is_constant, "too small and too large write back one and the same size")
      POINT(any_size_up_to_kernel, "each size from 64 to the kernel's is accepted, unaligned too"))

/* An attr with room behind it, all of it zero. */
union sized {
	struct perf_event_attr attr;
	unsigned char bytes[1024];
};

static union sized of_size(uint32_t size)
{
	union sized ret;

	memset(&ret, 0, sizeof(ret));
	ret.attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	ret.attr.size = size;
	return ret;
}

/* Open an attr of that size whose bytes beyond the first version are 0. Returns 0 or -errno. */
static int answer(uint32_t size, uint32_t *ret_size)
{
	union sized sized = of_size(size);
	int fd = pm_open_raw(&sized.attr, 0, -1, -1, 0);

	*ret_size = sized.attr.size;
	return fd < 0 ? fd : close(fd);
}

/* The test needs an event to be had at all; the plainest size decides. */
static uint32_t kernel_size(void)
{
	int size;

	must_open_plain();
	size = pm_attr_size_kernel();
	if (size < 0)
		say_unknown("no E2BIG with a size: %s", pm_errno_name(size));
	return size;
}

TEST(zero_is_first_version)
{
	union sized sized = of_size(0);
	int error;

	fact_int("kernel", kernel_size());
	error = pm_open_raw(&sized.attr, 0, -1, -1, 0);
	if (error < 0)
		say_broken("size=0 errno=%s", pm_errno_name(error));
	memset(sized.bytes + PERF_ATTR_SIZE_VER0, 0xff, 512);	/* must not be looked at */
	error = pm_open_raw(&sized.attr, 0, -1, -1, 0);
	if (error < 0)
		say_broken("size=0 with bytes set behind the first version: errno=%s",
			   pm_errno_name(error));
}

TEST(small_is_refused)
{
	const uint32_t kernel = kernel_size();

	for (uint32_t size = 1; size < PERF_ATTR_SIZE_VER0; size++) {
		uint32_t written;
		int error = answer(size, &written);

		if (error != -E2BIG || written != kernel)
			say_broken("size=%u errno=%s written=%u want=%u", size,
				   pm_errno_name(error), written, kernel);
	}
}

TEST(oracle_is_constant)
{
	const uint32_t kernel = kernel_size();
	uint32_t small = 0, large = 0;

	answer(PERF_ATTR_SIZE_VER0 - 1, &small);
	answer(0x7fffffff, &large);
	if (small != kernel || large != kernel || kernel % 8 || kernel < PERF_ATTR_SIZE_VER0)
		say_broken("small=%u large=%u first=%u", small, large, kernel);
}

TEST(any_size_up_to_kernel)
{
	const uint32_t kernel = kernel_size();

	for (uint32_t size = PERF_ATTR_SIZE_VER0; size <= kernel; size++) {
		uint32_t written;
		int error = answer(size, &written);

		if (error)
			say_broken("size=%u errno=%s kernel=%u", size, pm_errno_name(error),
				   kernel);
	}
}

PROBE_MAIN
