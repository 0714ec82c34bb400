/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where may an attr lie in memory, and how much of it does the kernel read?
 *
 * A library passes attrs from tables and from its stack: any address must do, and no byte beyond
 * the size may be read. Observed with an attr between two pages that cannot be accessed.
 */
#include "probe.h"

PROBE(TITLE("an attr in memory")
      SINCE("2.6.31")
      POINT(null, "a null pointer is EFAULT")
      POINT(unmapped, "an attr in unmapped memory is EFAULT")
      POINT(ends_at_page, "an attr that ends with its page is accepted: nothing more is read")
      POINT(cut_off, "an attr whose last byte is in unmapped memory is EFAULT")
      POINT(unaligned, "an attr at an odd address is accepted"))

static size_t page_size;

/* Three pages: the middle one is to be used, the others are out of reach. */
static char *three_pages(void)
{
	char *pages;

	page_size = sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, 3 * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(pages + page_size, page_size, PROT_READ | PROT_WRITE);
	return pages + page_size;
}

static struct perf_event_attr small(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.size = PERF_ATTR_SIZE_VER0;
	return attr;
}

static int open_at(void *where)
{
	return pm_open_raw(where, 0, -1, -1, 0);
}

/* Put an attr there and open it: it must be taken. */
static void taken(void *where, const char *what)
{
	struct perf_event_attr attr = small();
	int fd;

	must_open_plain();
	memcpy(where, &attr, PERF_ATTR_SIZE_VER0);
	fd = open_at(where);
	if (fd < 0)
		say_broken("%s: errno=%s", what, pm_errno_name(fd));
	close(fd);
}

TEST(null)
{
	must_open_plain();
	expect_refused(open_at(NULL), EFAULT, BROKEN, "a null pointer");
}

TEST(unmapped)
{
	must_open_plain();
	expect_refused(open_at(three_pages() - 128), EFAULT, BROKEN, "unmapped memory");
}

TEST(ends_at_page)
{
	char *page = three_pages();

	taken(page + page_size - PERF_ATTR_SIZE_VER0, "an attr at the page's end");
}

TEST(cut_off)
{
	struct perf_event_attr attr = small();
	char *page = three_pages();
	char *where = page + page_size - PERF_ATTR_SIZE_VER0 + 1;

	must_open_plain();
	memcpy(where, &attr, PERF_ATTR_SIZE_VER0 - 1);
	expect_refused(open_at(where), EFAULT, BROKEN, "63 of 64 bytes readable");
}

TEST(unaligned)
{
	char *page = three_pages();

	taken(page + 3, "an attr at an odd address");
}

PROBE_MAIN
