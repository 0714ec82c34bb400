/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How do a program and a kernel of different age agree on the size of perf_event_attr?
 *
 * The size is the version of the ABI, and E2BIG with the kernel's own size written back is the
 * one oracle that says how old a kernel really is, whatever its release claims. Observed by
 * calls of every size from 0 to beyond a page. Zero beyond what the kernel knows is harmless, so
 * a newer program may pass its whole struct.
 */
#include "probe.h"

PROBE(TITLE("the size of an attr")
      SINCE("2.6.31")
      FACT(kernel, int, "bytes", "sizeof(struct perf_event_attr) that the kernel writes back")
      POINT(zero_is_first_version, "size 0 means the 64 bytes of the first version")
      POINT(small_is_refused, "each size from 1 to 63 answers E2BIG and the kernel's own size")
      POINT(oracle_is_constant, "too small and too large write back one and the same size")
      POINT(any_size_up_to_kernel, "each size from 64 to the kernel's is accepted, unaligned too")
      POINT(zero_tail_is_accepted, "a size up to a page with zeros beyond the kernel's own")
      POINT(set_tail_is_refused, "one byte set beyond the kernel's own size answers E2BIG")
      POINT(beyond_page_is_refused, "a size over a page answers E2BIG, whatever the page size"))

/* Two pages that hold an attr and zeros behind it. */
static struct perf_event_attr *area_with_attr(uint32_t size)
{
	const size_t bytes = 2 * (size_t)sysconf(_SC_PAGESIZE);
	static struct perf_event_attr *area;

	if (!area)
		area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	memset(area, 0, bytes);
	*area = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	area->size = size;
	return area;
}

/* Open an attr of that size whose bytes beyond the first version are 0. Returns 0 or -errno. */
static int answer(uint32_t size, uint32_t *ret_size)
{
	struct perf_event_attr *attr = area_with_attr(size);
	int fd = pm_open_raw(attr, 0, -1, -1, 0);

	if (ret_size)
		*ret_size = attr->size;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* The test needs an event to be had at all; the plainest size decides. */
static uint32_t kernel_size(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int size;

	close(must_open(&attr, 0, -1, -1, 0));
	size = pm_attr_size_kernel();
	if (size < 0)
		cannot_tell("no E2BIG with a size: %s", errno_name(size));
	return size;
}

TEST(zero_is_first_version)
{
	struct perf_event_attr *attr;
	int error;

	fact_int("kernel", kernel_size(_metadata));
	error = answer(0, NULL);
	if (error)
		broken("size=0 errno=%s", errno_name(error));
	attr = area_with_attr(0);
	memset((char *)attr + PERF_ATTR_SIZE_VER0, 0xff, 512);	/* must not be looked at */
	error = pm_open_raw(attr, 0, -1, -1, 0);
	if (error < 0)
		broken("size=0 with bytes set behind the first version: errno=%s",
		       errno_name(error));
}

TEST(small_is_refused)
{
	const uint32_t kernel = kernel_size(_metadata);

	for (uint32_t size = 1; size < PERF_ATTR_SIZE_VER0; size++) {
		uint32_t written;
		int error = answer(size, &written);

		if (error != -E2BIG || written != kernel)
			broken("size=%u errno=%s written=%u want=%u", size, errno_name(error),
			       written, kernel);
	}
}

TEST(oracle_is_constant)
{
	const uint32_t page = sysconf(_SC_PAGESIZE), kernel = kernel_size(_metadata);
	uint32_t small = 0, large = 0;

	answer(PERF_ATTR_SIZE_VER0 - 1, &small);
	answer(page + 8, &large);
	if (small != kernel || large != kernel || kernel % 8 || kernel < PERF_ATTR_SIZE_VER0)
		broken("small=%u large=%u first=%u", small, large, kernel);
}

TEST(any_size_up_to_kernel)
{
	const uint32_t kernel = kernel_size(_metadata);

	for (uint32_t size = PERF_ATTR_SIZE_VER0; size <= kernel; size++) {
		int error = answer(size, NULL);

		if (error)
			broken("size=%u errno=%s kernel=%u", size, errno_name(error), kernel);
	}
}

TEST(zero_tail_is_accepted)
{
	const uint32_t page = sysconf(_SC_PAGESIZE), kernel = kernel_size(_metadata);
	const uint32_t sizes[] = { kernel + 1, kernel + 8, (kernel + page) / 2, page - 1, page };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int error = answer(sizes[i], NULL);

		if (error)
			broken("size=%u errno=%s kernel=%u", sizes[i], errno_name(error), kernel);
	}
}

TEST(set_tail_is_refused)
{
	const uint32_t page = sysconf(_SC_PAGESIZE), kernel = kernel_size(_metadata);
	const uint32_t places[] = { kernel, kernel + 7, page - 1 };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct perf_event_attr *attr = area_with_attr(page);
		int error;

		((unsigned char *)attr)[places[i]] = 1;
		error = pm_open_raw(attr, 0, -1, -1, 0);
		if (error != -E2BIG || attr->size != kernel)
			broken("byte=%u errno=%s written=%u want=%u", places[i],
			       errno_name(error < 0 ? error : 0), attr->size, kernel);
	}
}

TEST(beyond_page_is_refused)
{
	const uint32_t page = sysconf(_SC_PAGESIZE);
	const uint32_t sizes[] = { page + 1, page + 8, 2 * page, 0x7fffffff, 0xffffffff };

	kernel_size(_metadata);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int error = answer(sizes[i], NULL);

		if (error != -E2BIG)
			broken("size=%u errno=%s want=E2BIG page=%u", sizes[i],
			       errno_name(error), page);
	}
}

PROBE_MAIN
