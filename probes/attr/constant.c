/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the kernel leave the attr alone?
 *
 * A library passes attrs from constant tables, so read-only memory must be accepted, and the kernel
 * may change nothing but the size, after E2BIG.
 */
#include "probe.h"

PROBE(TITLE("an attr that is constant")
      SINCE("2.6.31")
      POINT(read_only, "an attr in read-only memory is accepted")
      POINT(read_only_e2big, "a bad size in read-only memory is E2BIG, and the size stays")
      POINT(unchanged, "a successful open changes no byte of the attr"))

static struct perf_event_attr small(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.size = PERF_ATTR_SIZE_VER0;
	return attr;
}

static char *own_page(void)
{
	return mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

TEST(read_only)
{
	struct perf_event_attr attr = small();
	char *page = own_page();
	int fd;

	must_open_plain();
	memcpy(page, &attr, PERF_ATTR_SIZE_VER0);
	mprotect(page, sysconf(_SC_PAGESIZE), PROT_READ);
	fd = pm_open_raw((void *)page, 0, -1, -1, 0);
	if (fd < 0)
		say_broken("read-only memory: errno=%s", pm_errno_name(fd));
}

TEST(read_only_e2big)
{
	struct perf_event_attr attr = small();
	struct perf_event_attr *page = (void *)own_page();

	must_open_plain();
	attr.size = 63;
	memcpy(page, &attr, PERF_ATTR_SIZE_VER0);
	mprotect(page, sysconf(_SC_PAGESIZE), PROT_READ);
	expect_refused(pm_open_raw((void *)page, 0, -1, -1, 0),
		       E2BIG, BROKEN, "a bad size in read-only memory");
	if (page->size != 63)
		say_broken("size=%u want=63", page->size);
}

TEST(unchanged)
{
	struct perf_event_attr attr = small(), before;
	int fd;

	must_open_plain();
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	attr.exclude_callchain_kernel = 1;
	memset(&before, 0, sizeof(before));
	memcpy(&before, &attr, sizeof(attr));
	fd = pm_open_raw(&attr, 0, -1, -1, 0);
	if (fd < 0)
		say_unknown("a sampling event: %s", pm_errno_name(fd));
	if (memcmp(&attr, &before, sizeof(attr)))
		say_broken("the attr has changed: size=%u sample_max_stack=%u", attr.size,
			   attr.sample_max_stack);
}

PROBE_MAIN
