/* SPDX-License-Identifier: MIT */
/*
 * The reader of the kernel's libperf over a ring that is already there. Linked with GPL-2.0 code:
 * the program is for measuring and not for handing on.
 */
#include <stddef.h>
#include <stdint.h>

#include <internal/mmap.h>
#include <perf/core.h>
#include <perf/event.h>
#include <perf/mmap.h>

#include "peer.h"

static struct perf_mmap map;

static int say_nothing(enum libperf_print_level level, const char *format, va_list list)
{
	(void)level;
	(void)format;
	(void)list;
	return 0;
}

unsigned long peer_libperf_drain(void *base, size_t data_size)
{
	const union perf_event *event;
	unsigned long sum = 0;

	if (map.base != base) {
		libperf_init(say_nothing);	/* finds the page size */
		perf_mmap__init(&map, NULL, false, NULL);
		map.base = base;
		map.mask = (int)data_size - 1;
		refcount_set(&map.refcnt, 2);	/* at 1 it unmaps what it has read */
	}
	map.prev = 0;
	if (perf_mmap__read_init(&map) < 0)
		return 0;
	while ((event = perf_mmap__read_event(&map)) != NULL) {
		sum += event->header.size;
		perf_mmap__consume(&map);
	}
	perf_mmap__read_done(&map);
	return sum;
}
