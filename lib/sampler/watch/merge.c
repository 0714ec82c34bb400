/* SPDX-License-Identifier: MIT */
/*
 * Rings are of CPUs, and what is told of one process is in several: its birth in one, its samples
 * in another. So the oldest record of all rings comes next. What may be preceded by a record that
 * is still being written waits in its ring.
 */
#include <string.h>

#include "../../policy/spec/heap.h"
#include "records.h"

#define STRANGE_NS 1000000000ull	/* no two clocks of one ring are that far apart */
#define RECORD_LARGE 4096	/* a ring with less room than this may have lost */

/* Where the time stands: `format` of all events ends, and begins, alike. 0 when it is too short. */
static uint64_t time_of(const struct pm_sampler *sampler, const struct perf_event_header *record)
{
	const bool identified = sampler->formats[0].sample_type & PERF_SAMPLE_IDENTIFIER;
	/* time, stream's id where it is asked for, cpu, and the id somewhere: at the end */
	const size_t behind = sampler->way == WAY_THREADS ? 32 : 24;
	uint64_t time;

	if (record->size < sizeof(*record) + 32)
		return 0;
	memcpy(&time, (const char *)record + (record->type == PERF_RECORD_SAMPLE ?
		sizeof(*record) + (identified ? 24 : 16) :	/* identifier, ip, pid and tid */
		record->size - behind), sizeof(time));
	return time;
}

static bool is_older(const void *a, const void *b)
{
	const struct session_ring *one = a, *other = b;

	return one->time < other->time;
}

/* ---------------------------------------------------------------------------------------- rings */

/*
 * Records of a ring are in order. One with quite another time has it from another event: when one
 * occurrence hits several software events, the kernel fills in time and id once, by the clock of
 * the first, which may be of another program (seen on 6.18: CLOCK_REALTIME in a ring of
 * CLOCK_MONOTONIC).
 */
static uint64_t plausible(struct pm_sampler *sampler, const struct session_ring *ring,
			  uint64_t time)
{
	const uint64_t last = ring->time;

	if (!pm_watch_has_clock(sampler) || (time <= sampler->turn_began + STRANGE_NS &&
				  time + STRANGE_NS >= last))
		return time;
	sampler->stats.mistimed++;
	return last;
}

/* The next record of a ring, if there is one. */
static bool hold(struct pm_sampler *sampler, struct session_ring *ring)
{
	int err = ring->ring.tail < ring->until ? pm_ring_next(&ring->ring, &ring->held) : 0;

	if (err == 1) {
		ring->time = plausible(sampler, ring, time_of(sampler, ring->held));
		return true;
	}
	ring->held = NULL;
	if (err == 0)
		return false;
	sampler->stats.corrupt++;
	sampler->stats.corrupt_bytes += pm_ring_skip_all(&ring->ring);
	ring->released = ring->ring.tail;
	return false;
}

static void release(struct session_ring *ring)
{
	if (ring->released == ring->ring.tail)
		return;
	pm_ring_release(&ring->ring);
	ring->released = ring->ring.tail;
}

/*
 * By time a turn ends at a moment. Where the clock of the records cannot be read, it ends at what
 * is there now: a program that causes records as fast as they are read would hold it for ever.
 */
static void begin(struct pm_sampler *sampler)
{
	const bool by_time = pm_watch_has_clock(sampler);

	sampler->heap_count = 0;
	for (size_t i = 0; i < sampler->rings.count; i++) {
		struct session_ring *ring = &sampler->rings.list[i];

		ring->until = by_time ? UINT64_MAX :
			ring->ring.tail + pm_ring_pending(&ring->ring);
		if (pm_ring_pending(&ring->ring) + RECORD_LARGE > ring->ring.data_size)
			sampler->stats.full_rings++;
		if (!hold(sampler, ring))
			continue;
		sampler->heap[sampler->heap_count++] = ring;
		pm_heap_up(sampler->heap, sampler->heap_count, is_older);
	}
}

/* What was not delivered is read again next time. */
static void end(struct pm_sampler *sampler)
{
	for (size_t i = 0; i < sampler->rings.count; i++) {
		struct session_ring *ring = &sampler->rings.list[i];

		if (ring->held != NULL)
			ring->ring.tail -= ring->held->size;
		ring->held = NULL;
		release(ring);
	}
}

int pm_watch_merge(struct pm_sampler *sampler, uint64_t limit, uint64_t most)
{
	uint64_t count = 0;

	begin(sampler);
	while (sampler->heap_count > 0 && (most == 0 || count < most) && count < INT32_MAX) {
		struct session_ring *ring = sampler->heap[0];

		if (ring->time > limit)
			break;
		if (ring->time < sampler->delivered_to)
			sampler->stats.unordered++;
		else
			sampler->delivered_to = ring->time;
		pm_watch_deliver(sampler, ring, ring->held);
		count++;
		if (ring->ring.tail - ring->released > ring->ring.data_size / 8)
			release(ring);
		if (!hold(sampler, ring))
			sampler->heap[0] = sampler->heap[--sampler->heap_count];
		pm_heap_down(sampler->heap, sampler->heap_count, is_older);
	}
	end(sampler);
	sampler->stats.records += count;
	return (int)count;
}

bool pm_watch_is_pressed(struct pm_sampler *sampler)
{
	for (size_t i = 0; i < sampler->rings.count; i++)
		if (pm_ring_pending(&sampler->rings.list[i].ring) >
		    sampler->rings.list[i].ring.data_size / 2)
			return true;
	return false;
}

bool pm_watch_is_waiting(const struct pm_sampler *sampler)
{
	for (size_t i = 0; i < sampler->rings.count; i++)
		if (pm_ring_pending(&sampler->rings.list[i].ring) > 0)
			return true;
	return false;
}
