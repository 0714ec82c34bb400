/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of a ring. See ring.h.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "ring.h"

void touch_ring(struct pm_ring *ring)
{
	const volatile char *base = ring->base;

	for (size_t at = 0; at < ring->map_size; at += 4096)
		(void)base[at];
	if (ring->writable)
		pm_ring_release(ring);
}

int count_records(struct pm_ring *ring, uint32_t type)
{
	const struct perf_event_header *header;
	int count = 0, more;

	while ((more = pm_ring_next(ring, &header)) == 1)
		count += header->type == type;
	pm_ring_release(ring);
	return more < 0 ? more : count;
}

int next_record(struct pm_ring *ring, const struct pm_format *format, struct pm_record *ret)
{
	const struct perf_event_header *header;
	int more = pm_ring_next(ring, &header);

	if (more != 1)
		return more;
	more = pm_record_decode(header, format, ret);
	return more == 0 || more == -ENOTSUP ? 1 : more;
}
