/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages that fault once each. Included behind probe.h.
 */
#ifndef PAGES_H
#define PAGES_H

/* Map fresh pages, of a file or (fd -1) of none: writing is one fault a page. NULL: no memory. */
static inline volatile char *map_fresh(int fd, unsigned int pages)
{
	const size_t size = pages * (size_t)sysconf(_SC_PAGESIZE);
	const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (area == MAP_FAILED)
		return NULL;
	madvise(area, size, MADV_NOHUGEPAGE);
	madvise(area, size, MADV_RANDOM);
	return area;
}

/* Write to each page once and touch nothing else. Walk the way once before counting exactly. */
static inline void touch_pages(volatile char *area, unsigned int pages)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (volatile char *at = area; at && at < area + pages * page; at += page)
		*at = 1;
}

#endif
