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

static bool begin(void *base, size_t data_size)
{
	if (map.base != base) {
		libperf_init(say_nothing);	/* finds the page size */
		perf_mmap__init(&map, NULL, false, NULL);
		map.base = base;
		map.mask = (int)data_size - 1;
		refcount_set(&map.refcnt, 2);	/* at 1 it unmaps what it has read */
	}
	map.prev = 0;
	return perf_mmap__read_init(&map) >= 0;
}

unsigned long peer_libperf_drain(void *base, size_t data_size, bool batch)
{
	const union perf_event *event;
	unsigned long sum = 0;

	if (!begin(base, data_size))
		return 0;
	while ((event = perf_mmap__read_event(&map)) != NULL) {
		sum += event->header.size;
		if (!batch)
			perf_mmap__consume(&map);
	}
	if (batch)
		perf_mmap__consume(&map);
	perf_mmap__read_done(&map);
	return sum;
}

/* The layout that the session has: an id, and with each sample its time, CPU and period. */
static void decode(const union perf_event *event, struct peer_sample *ret)
{
	const __u64 *at = event->sample.array;
	const uint32_t *half;

	ret->id = *at++;
	ret->ip = *at++;
	half = (const uint32_t *)at++;
	ret->pid = half[0];
	ret->tid = half[1];
	ret->time = *at++;
	ret->cpu = *(const uint32_t *)at++;
	ret->period = *at;
}

unsigned long peer_libperf_decode(void *base, size_t data_size, peer_deliver *deliver,
				  void *context)
{
	const union perf_event *event;
	struct peer_sample sample;
	unsigned long sum = 0;

	if (!begin(base, data_size))
		return 0;
	while ((event = perf_mmap__read_event(&map)) != NULL) {
		sum += event->header.size;
		if (event->header.type != PERF_RECORD_SAMPLE)
			continue;
		decode(event, &sample);
		deliver(context, &sample);
	}
	perf_mmap__consume(&map);
	perf_mmap__read_done(&map);
	return sum;
}
