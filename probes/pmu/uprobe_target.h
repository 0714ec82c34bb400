/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A function of this very program, for the probes that have its calls watched. Included behind
 * probe.h.
 */
#ifndef UPROBE_TARGET_H
#define UPROBE_TARGET_H

#include "pmu.h"

static volatile int32_t sink;

static int __attribute__((noinline)) watched_function(int value)
{
	sink += value;
	__asm__ volatile("" ::: "memory");
	return sink;
}

/* Called through memory: direct calls on POWER enter a function behind where a pointer leads. */
static int (*volatile call_watched)(int) = watched_function;

static inline void call_nine_times(void)
{
	for (int i = 0; i < 9; i++)
		call_watched(i);
}

/* Where in its file an address of this program lies; 0 when it is in none. */
static inline uint64_t file_offset(const volatile void *pointer)
{
	uintptr_t address = (uintptr_t)pointer;
	unsigned long from, to, offset;
	uint64_t found = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 &&
		    address >= from && address < to && strchr(line, '/'))
			found = address - from + offset;
	if (maps)
		fclose(maps);
	return found;
}

/* An attr for a function of this very program, by file and offset. */
static inline struct perf_event_attr must_uprobe(int (*function)(int))
{
	struct perf_event_attr attr = must_pmu("uprobe");
	static char path[512];
	uintptr_t address = (uintptr_t)function;

#ifdef __arm__
	address &= ~1ul;
#endif
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		say_unknown("readlink: %s", pm_errno_name(errno));
	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = file_offset((const volatile void *)address);
	attr.exclude_kernel = attr.disabled = 0;
	if (!attr.probe_offset)
		say_unknown("the function is not in a mapped file");
	return attr;
}

/* Open that; ends the test as absent where no code can be probed in this program's file. */
static inline int open_uprobe(const struct perf_event_attr *attr)
{
	int fd = pm_open(attr, 0, -1, -1, 0);

	if (fd == -EIO || fd == -ENOTSUP)
		say_absent("no uprobe can be placed in this program (%s)", pm_errno_name(fd));
	return fd >= 0 ? fd : must_open(attr, 0, -1, -1, 0);
}

#endif
