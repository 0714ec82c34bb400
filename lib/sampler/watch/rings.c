/* SPDX-License-Identifier: MIT */
/* Lists of what is open: events with their ids, and rings. */
#include "rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ ids */

static size_t slot_of(const struct pm_sampler *sampler, uint64_t id)
{
	return (size_t)(id * 0x9e3779b97f4a7c15ull >> 32) & (sampler->ids_room - 1);
}

static void enter(struct pm_sampler *sampler, size_t index)
{
	size_t at = slot_of(sampler, sampler->opened[index].id);

	while (sampler->ids[at] != 0)
		at = (at + 1) & (sampler->ids_room - 1);
	sampler->ids[at] = (uint32_t)index + 1;
}

static int index_ids(struct pm_sampler *sampler)
{
	size_t room = 64;
	uint32_t *ids;

	while (room < 4 * sampler->opened_count)
		room *= 2;
	ids = calloc(room, sizeof(*ids));
	if (ids == NULL)
		return -ENOMEM;
	free(sampler->ids);
	sampler->ids = ids;
	sampler->ids_room = room;
	for (size_t i = 0; i < sampler->opened_count; i++)
		enter(sampler, i);
	return 0;
}

const struct opened *pm_watch_find(const struct pm_sampler *sampler, uint64_t id)
{
	size_t at;

	if (sampler->ids_room == 0)
		return NULL;
	for (at = slot_of(sampler, id); sampler->ids[at] != 0;) {
		if (sampler->opened[sampler->ids[at] - 1].id == id)
			return &sampler->opened[sampler->ids[at] - 1];
		at = (at + 1) & (sampler->ids_room - 1);
	}
	return NULL;
}

/* --------------------------------------------------------------------------------------- events */

static int make_room(struct pm_sampler *sampler)
{
	const size_t room = sampler->opened_room ? 2 * sampler->opened_room : 64;
	struct opened *more;

	if (sampler->opened_count < sampler->opened_room)
		return 0;
	more = realloc(sampler->opened, room * sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	sampler->opened = more;
	sampler->opened_room = room;
	return 0;
}

int pm_watch_add(struct pm_sampler *sampler, const struct opened *opened)
{
	int err = make_room(sampler);
	uint64_t id = 0;

	if (err == 0)
		err = pm_ioctl(opened->fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
	if (err < 0) {
		close(opened->fd);
		return err;
	}
	sampler->opened[sampler->opened_count] = *opened;
	sampler->opened[sampler->opened_count++].id = id;
	if (2 * sampler->opened_count > sampler->ids_room)
		return index_ids(sampler);
	enter(sampler, sampler->opened_count - 1);
	return 0;
}

/* What the kernel says that it could not write. */
static void add_lost(struct pm_sampler *sampler, const struct opened *opened,
		     const struct pm_counts *counts)
{
	const struct watch_event *event = &sampler->events[opened->event];

	if (!(event->attr.read_format & PERF_FORMAT_LOST))
		return;
	for (uint64_t i = 0; i < counts->nr; i++)
		if (counts->member[i].id == opened->id || counts->nr == 1)
			sampler->stats.lost_counted += counts->member[i].lost;
}

static void add_value(const struct opened *opened, const struct pm_counts *counts,
		      struct pm_value *sum)
{
	for (uint64_t i = 0; i < counts->nr; i++)
		if (counts->nr == 1 || counts->member[i].id == opened->id)
			sum->value += counts->member[i].value;
	sum->enabled += counts->time_enabled;
	sum->running += counts->time_running;
}

static int read_one(const struct pm_sampler *sampler, const struct opened *opened,
		    struct pm_counts *ret)
{
	return pm_read_counts(opened->fd, sampler->events[opened->event].attr.read_format, ret);
}

int pm_watch_sum(const struct pm_sampler *sampler, struct pm_value *sums)
{
	struct pm_counts counts;
	int err;

	memcpy(sums, sampler->gone, sizeof(sampler->gone));
	for (size_t i = 0; i < sampler->opened_count; i++) {
		const struct opened *opened = &sampler->opened[i];

		err = read_one(sampler, opened, &counts);
		if (err < 0)
			return err;
		add_value(opened, &counts, &sums[opened->event]);
	}
	return 0;
}

void pm_watch_count_lost(struct pm_sampler *sampler)
{
	struct pm_counts counts;

	for (size_t i = 0; i < sampler->opened_count; i++)
		if (read_one(sampler, &sampler->opened[i], &counts) >= 0)
			add_lost(sampler, &sampler->opened[i], &counts);
}

/* What it counted and lost is kept. */
static void close_one(struct pm_sampler *sampler, const struct opened *opened)
{
	struct pm_counts counts;

	if (read_one(sampler, opened, &counts) >= 0) {
		if (!sampler->ended)
			add_lost(sampler, opened, &counts);
		add_value(opened, &counts, &sampler->gone[opened->event]);
	}
	close(opened->fd);
}

void pm_watch_close_since(struct pm_sampler *sampler, size_t count)
{
	while (sampler->opened_count > count)
		close_one(sampler, &sampler->opened[--sampler->opened_count]);
	(void)index_ids(sampler);
}

void pm_watch_close_of(struct pm_sampler *sampler, uint64_t root, int cpu)
{
	size_t kept = 0;

	for (size_t i = 0; i < sampler->opened_count; i++) {
		const struct opened *opened = &sampler->opened[i];

		if (root != 0 ? opened->root == root : opened->cpu == cpu)
			close_one(sampler, opened);
		else
			sampler->opened[kept++] = *opened;
	}
	if (kept == sampler->opened_count)
		return;
	sampler->opened_count = kept;
	(void)index_ids(sampler);
}

/* ---------------------------------------------------------------------------------------- rings */

struct watch_ring *pm_watch_ring(const struct pm_sampler *sampler, int cpu)
{
	for (size_t i = 0; i < sampler->ring_count; i++)
		if (sampler->rings[i].cpu == cpu && !sampler->rings[i].dead)
			return &sampler->rings[i];
	return NULL;
}

bool pm_watch_has_ring(const struct pm_sampler *sampler, int cpu)
{
	for (size_t i = 0; i < sampler->ring_count; i++)
		if (sampler->rings[i].cpu == cpu)
			return true;
	return false;
}

void pm_watch_let_go(struct pm_sampler *sampler, int cpu)
{
	struct watch_ring *ring = pm_watch_ring(sampler, cpu);

	if (ring == NULL)
		return;
	if (ring->polled)
		(void)epoll_ctl(sampler->epoll, EPOLL_CTL_DEL, ring->fd, NULL);
	ring->polled = false;
	ring->dead = true;
}

static int map(struct pm_sampler *sampler, int fd, struct pm_ring *ret)
{
	int err;

	do {
		err = pm_ring_open(fd, sampler->pages, PROT_READ | PROT_WRITE, ret);
		if ((err == -EPERM || err == -ENOMEM) && sampler->pages > 1)
			sampler->pages /= 2;
		else
			return err;
	} while (true);
}

int pm_watch_map(struct pm_sampler *sampler, int fd, int cpu, bool keeper)
{
	struct epoll_event wanted = { .events = EPOLLIN, .data.u32 = (uint32_t)cpu };
	const size_t count = sampler->ring_count + 1;
	struct watch_ring *rings = realloc(sampler->rings, count * sizeof(*rings)), *ring;
	size_t *heap = realloc(sampler->heap, count * sizeof(*heap));
	int err;

	sampler->rings = rings ? rings : sampler->rings;
	sampler->heap = heap ? heap : sampler->heap;
	if (rings == NULL || heap == NULL)
		return -ENOMEM;
	ring = &rings[sampler->ring_count];
	*ring = (struct watch_ring){ .fd = fd, .cpu = cpu, .keeper = keeper };
	err = map(sampler, fd, &ring->ring);
	if (err < 0)
		return err;
	ring->released = ring->ring.tail;
	ring->polled = !(sampler->opts.flags & PM_SAMPLER_NO_WAKEUP) &&
		epoll_ctl(sampler->epoll, EPOLL_CTL_ADD, fd, &wanted) == 0;
	sampler->ring_count++;
	return 0;
}

static void close_ring(struct watch_ring *ring)
{
	pm_ring_close(&ring->ring);
	if (ring->keeper)
		close(ring->fd);
	if (ring->pulse > 0)
		close(ring->pulse);
}

void pm_watch_drop_dead(struct pm_sampler *sampler)
{
	size_t kept = 0;

	for (size_t i = 0; i < sampler->ring_count; i++) {
		struct watch_ring *ring = &sampler->rings[i];

		if (!ring->dead || pm_ring_pending(&ring->ring) > 0) {
			sampler->rings[kept++] = *ring;
			continue;
		}
		if (sampler->way != WAY_THREADS)
			pm_watch_close_of(sampler, 0, ring->cpu);
		close_ring(ring);
	}
	sampler->ring_count = kept;
}

void pm_watch_close_all(struct pm_sampler *sampler)
{
	pm_watch_close_since(sampler, 0);
	for (size_t i = 0; i < sampler->ring_count; i++)
		close_ring(&sampler->rings[i]);
	free(sampler->rings);
	free(sampler->heap);
	free(sampler->opened);
	free(sampler->ids);
	sampler->rings = NULL;
	sampler->heap = NULL;
	sampler->opened = NULL;
	sampler->ids = NULL;
	sampler->ring_count = sampler->heap_count = 0;
	sampler->opened_room = sampler->ids_room = 0;
}
