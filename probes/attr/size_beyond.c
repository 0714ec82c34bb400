/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May an attr be larger than the kernel's own?
 *
 * A newer program may pass its whole struct: zeros beyond what the kernel knows are harmless, a
 * byte that is set is a feature that the kernel lacks, and a page is the limit. With E2BIG the
 * kernel writes its own size back.
 */
#include "probe.h"

PROBE(TITLE("an attr larger than the kernel's")
      SINCE("2.6.31")
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

static int answer(uint32_t size)
{
	int fd = pm_open_raw(area_with_attr(size), 0, -1, -1, 0);

	return fd < 0 ? fd : close(fd);
}

static uint32_t known(void)
{
	int size = pm_attr_size_kernel();

	must_open_plain();
	if (size < 0)
		say_unknown("no size of the kernel's own: %s", pm_errno_name(size));
	return size;
}

TEST(zero_tail_is_accepted)
{
	const uint32_t page = sysconf(_SC_PAGESIZE), kernel = known();
	const uint32_t sizes[] = { kernel + 1, kernel + 8, (kernel + page) / 2, page - 1, page };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int error = answer(sizes[i]);

		if (error)
			say_broken("size=%u errno=%s kernel=%u", sizes[i], pm_errno_name(error),
				   kernel);
	}
}

TEST(set_tail_is_refused)
{
	const uint32_t page = sysconf(_SC_PAGESIZE), kernel = known();
	const uint32_t places[] = { kernel, kernel + 7, page - 1 };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct perf_event_attr *attr = area_with_attr(page);
		int error;

		((unsigned char *)attr)[places[i]] = 1;
		error = pm_open_raw(attr, 0, -1, -1, 0);
		if (error != -E2BIG || attr->size != kernel)
			say_broken("byte=%u errno=%s written=%u want=%u", places[i],
				   pm_errno_name(error < 0 ? error : 0), attr->size, kernel);
	}
}

TEST(beyond_page_is_refused)
{
	const uint32_t page = sysconf(_SC_PAGESIZE);
	const uint32_t sizes[] = { page + 1, page + 8, 2 * page, 0x7fffffff, 0xffffffff };

	must_open_plain();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int error = answer(sizes[i]);

		if (error != -E2BIG)
			say_broken("size=%u errno=%s want=E2BIG page=%u", sizes[i],
				   pm_errno_name(error), page);
	}
}

PROBE_MAIN
