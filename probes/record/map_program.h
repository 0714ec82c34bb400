/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A mapping of the program that runs. Included behind probe.h.
 */
#ifndef MAP_PROGRAM_H
#define MAP_PROGRAM_H

/* Map a page of this program's own file, the one at page offset 1. */
static inline void *map_program(int flags, int prot)
{
	const size_t page = probe_env()->page_size;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *area = mmap(NULL, page, prot, flags, fd, page);

	if (fd < 0 || area == MAP_FAILED)
		say_unknown("cannot map /proc/self/exe: %s", pm_errno_name(errno));
	close(fd);
	return area;
}

#endif
