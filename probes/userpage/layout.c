/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the user page laid out as it says? Readers built for a longer page go by its size.
 * Observed: the page of a software event with a ring of four pages.
 */
#include "probe.h"
#include "userpage.h"

PROBE(TITLE("layout of the user page")
      SINCE("2.6.31")
      POINT(versions, "version and compat_version are 0")
      POINT(size, "size ends before the reserved hole")
      SINCE("3.12")
      POINT(data_area, "data_offset is one page and data_size the pages that were asked for")
      SINCE("4.1"))

TEST(versions)
{
	struct watch watch = watch_faults(_metadata);

	if (page_of(&watch)->version || page_of(&watch)->compat_version)
		broken("version=%u compat_version=%u", page_of(&watch)->version,
		       page_of(&watch)->compat_version);
}

TEST(size)
{
	struct watch watch = watch_faults(_metadata);
	const uint32_t size = page_of(&watch)->size;

	if (!size)
		say_no("size is 0: the page of a kernel before v3.12");
	if (size < offsetof(struct perf_event_mmap_page, time_cycles) - 8 || size > 1024)
		broken("size=%u want 72..1024", size);
}

TEST(data_area)
{
	struct watch watch = watch_faults(_metadata);
	const size_t page = probe_env()->page_size;

	if (!page_of(&watch)->data_size)
		say_no("data_size is 0: the page of a kernel before v4.1");
	if (page_of(&watch)->data_offset != page || page_of(&watch)->data_size != 4 * page)
		broken("data_offset=%" PRIu64 " data_size=%" PRIu64 " want=%zu,%zu",
		       page_of(&watch)->data_offset, page_of(&watch)->data_size, page, 4 * page);
}

PROBE_MAIN
