/* SPDX-License-Identifier: MIT */
/* Lists of what is open: events and rings. */
#include "rings.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

/* --------------------------------------------------------------------------------------- events */

int pm_watch_add(struct pm_sampler *sampler, const struct session_event *event)
{
	const uint64_t format = sampler->events[event->spec].attr.read_format;
	int at = pm_events_add(&sampler->open, event, format);

	return at < 0 ? at : event->fd;
}

void pm_watch_close_of(struct pm_sampler *sampler, uint64_t root, int cpu)
{
	struct event_list *open = &sampler->open;

	for (size_t i = 0; i < open->count; i++) {
		struct session_event *event = &open->list[i];

		if (root != 0 ? event->owner != root : event->cpu != cpu)
			continue;
		pm_sums_fold(&sampler->sums, open, event);
		close(event->fd);
		event->fd = -1;
	}
	pm_events_forget_closed(open);
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
	pm_pulse_stop(&ring->pulse);
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
	pm_events_free(&sampler->open);
	pm_ids_free(&sampler->ids);
	for (size_t i = 0; i < sampler->ring_count; i++)
		close_ring(&sampler->rings[i]);
	free(sampler->rings);
	free(sampler->heap);
	sampler->rings = NULL;
	sampler->heap = NULL;
	sampler->ring_count = sampler->heap_count = 0;
}
