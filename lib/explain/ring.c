/* SPDX-License-Identifier: MIT */
/*
 * The ring of an event whose process is about to end. Its user page says how much was ever written
 * and how much of it was read; below what the event was told to wake its reader at, poll(2) has
 * never returned for it. It is mapped a second time for that, which the kernel allows at the same
 * size; what stands in it may have been written by the program.
 */
#include "ring.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_RINGS 64		/* of a shape that are looked at */
#define FD_OUTPUT 2u		/* PERF_FLAG_FD_OUTPUT */
#define REFRESH 2		/* of REQUESTS */
#define SET_OUTPUT 5
#define PAUSE_OUTPUT 9

static bool is_any_shared(void)
{
	for (size_t i = 0; i < shapes.count; i++)
		if (shapes.list[i]->requests[SET_OUTPUT] > 0 ||
		    (shapes.list[i]->flags & FD_OUTPUT))
			return true;
	return false;
}

/* Its own ring, which its own records alone are written to and which only they wake. */
static bool is_plain(const struct shape *shape)
{
	return shape->rings > 0 && shape->rings <= MOST_RINGS && !shape->ring_is_special &&
		!shape->attr.write_backward && shape->requests[REFRESH] == 0 &&
		shape->requests[PAUSE_OUTPUT] == 0 && !is_any_shared();
}

/* kernel/events/ring_buffer.c, ring_buffer_init(): it wakes beyond so many bytes. */
static uint64_t mark_of(const struct perf_event_attr *attr, uint64_t size)
{
	const uint64_t asked = attr->watermark ? attr->wakeup_watermark : 0;

	return asked == 0 ? size / 2 : asked < size ? asked : size;
}

static uint64_t count_samples(const char *data, uint64_t size)
{
	uint64_t count = 0;

	for (uint64_t at = 0; at + sizeof(struct perf_event_header) <= size;) {
		struct perf_event_header header;

		memcpy(&header, data + at, sizeof(header));
		if (header.size < sizeof(header))
			break;
		count += header.type == PERF_RECORD_SAMPLE;
		at += header.size;
	}
	return count;
}

static enum ring_end judge(const void *ring, const struct perf_event_attr *attr, uint64_t size)
{
	const struct perf_event_mmap_page *user = ring;
	const uint64_t head = __atomic_load_n(&user->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)ring + sysconf(_SC_PAGESIZE);

	if (head == 0 || user->data_tail != 0 || head > mark_of(attr, size))
		return RING_READ;
	if (!attr->watermark && attr->wakeup_events > 0 &&
	    count_samples(data, head) >= attr->wakeup_events)
		return RING_READ;
	return RING_NEVER_WOKEN;
}

enum ring_end ring_end_of(int copy, const struct shape *shape)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const size_t length = (size_t)(shape->most_pages * page);
	enum ring_end ret;
	void *ring;

	/* Without a ring it is refused, and a mapping would make one. */
	if (!is_plain(shape) || pm_ioctl(copy, PERF_EVENT_IOC_PAUSE_OUTPUT, 0) < 0)
		return RING_NOT_KNOWN;
	ring = mmap(NULL, length, PROT_READ, MAP_SHARED, copy, 0);
	if (ring == MAP_FAILED)
		return RING_NOT_KNOWN;
	ret = judge(ring, &shape->attr, length - page);
	(void)munmap(ring, length);
	return ret;
}
