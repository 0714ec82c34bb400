/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the user page laid out as it says? Readers built for a longer page go by its size. What it
 * says of version and data area: ring.user_page.
 * Observed: the page of a software event with a ring.
 */
#include "probe.h"
#include "userpage.h"

PROBE(TITLE("layout of the user page")
      SINCE("3.12")
      POINT(size, "size of the user page ends before the reserved hole"))

TEST(size)
{
	struct sampler sampler = watch_faults();
	const uint32_t size = page_of(&sampler)->size;

	if (!size)
		say_no("size is 0: the page of a kernel before v3.12");
	if (size < offsetof(struct perf_event_mmap_page, time_cycles) - 8 || size > 1024)
		say_broken("size=%u want 72..1024", size);
}

PROBE_MAIN
