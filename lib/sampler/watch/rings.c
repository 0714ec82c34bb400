/* SPDX-License-Identifier: MIT */
/* Lists of what is open: events and rings. */
#include "rings.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../policy/plan/attrs.h"
#include "../../policy/plan/open.h"

/* --------------------------------------------------------------------------------------- events */

int pm_watch_open_on(struct pm_sampler *sampler, const struct session_event *target, int output,
		     size_t count)
{
	const bool inherit = sampler->way == WAY_THREADS;
	struct session_event wanted = *target;
	uint64_t missing = 0;
	int err = 0;

	for (wanted.spec = 0; err >= 0 && wanted.spec < count; wanted.spec++) {
		const struct plan_event *event = &sampler->plan->events[wanted.spec];

		err = missing >> (event->led_by - 1) & 1 ? -ENOENT :
			pm_events_open(&sampler->open, &wanted, inherit);
		if (err == -ENOENT || (err < 0 && !inherit && pm_open_is_of_event(err))) {
			missing |= UINT64_C(1) << wanted.spec;
			err = 0;
		} else if (err >= 0 && (event->side || event->sampled)) {
			err = pm_ioctl(sampler->open.list[err].fd, PERF_EVENT_IOC_SET_OUTPUT,
				       (unsigned long)output);
		}
	}
	return err < 0 ? err : 0;
}

void pm_watch_no_side(const struct pm_sampler *sampler, struct perf_event_attr *ret)
{
	*ret = pm_watch_side(sampler)->attr;
	pm_plan_no_side(ret);
}

void pm_watch_close_of(struct pm_sampler *sampler, uint64_t root, int cpu)
{
	struct event_list *open = &sampler->open;

	for (size_t i = 0; i < open->count; i++) {
		struct session_event *event = &open->list[i];

		if (root != 0 ? event->owner == root : event->cpu == cpu)
			pm_sums_close(&sampler->sums, open, event, NULL);
	}
	pm_events_forget_closed(open);
}

/* ---------------------------------------------------------------------------------------- rings */

bool pm_watch_has_ring(const struct pm_sampler *sampler, int cpu)
{
	for (size_t i = 0; i < sampler->rings.count; i++)
		if (sampler->rings.list[i].cpu == cpu)
			return true;
	return false;
}

void pm_watch_let_go(struct pm_sampler *sampler, struct session_ring *ring)
{
	/* ENOENT where nobody is to be woken */
	pm_pollable_forget(&sampler->pollable, ring->fd);
	ring->dead = true;
}

int pm_watch_map(struct pm_sampler *sampler, int fd, int cpu)
{
	const struct session_event leader = { .fd = fd, .cpu = cpu };
	struct ring_set *rings = &sampler->rings;
	void **heap = realloc(sampler->heap, (rings->count + 1) * sizeof(*heap));
	int err;

	if (heap == NULL)
		return -ENOMEM;
	sampler->heap = heap;
	rings->pages = &sampler->pages;
	err = pm_rings_map_less(rings, &leader);
	if (err < 0)
		return err;
	rings->list[rings->count - 1].released = rings->list[rings->count - 1].ring.tail;
	/* Refused: then the ring is read by the clock. */
	if (!(sampler->opts.flags & PM_SAMPLER_NO_WAKEUP))
		(void)pm_pollable_watch(&sampler->pollable, fd);
	return 0;
}

/* By thread the ring's event is in no other list. */
static void close_ring(const struct pm_sampler *sampler, struct session_ring *ring)
{
	pm_ring_close(&ring->ring);
	if (sampler->way == WAY_THREADS)
		close(ring->fd);
	pm_liveness_stop(&ring->liveness);
}

void pm_watch_drop_dead(struct pm_sampler *sampler)
{
	for (size_t i = 0; i < sampler->rings.count; i++) {
		struct session_ring *ring = &sampler->rings.list[i];

		if (!ring->dead || pm_ring_pending(&ring->ring) > 0)
			continue;
		if (sampler->way != WAY_THREADS)
			pm_watch_close_of(sampler, 0, ring->cpu);
		close_ring(sampler, ring);
	}
	pm_rings_forget_closed(&sampler->rings);
}

void pm_watch_close_all(struct pm_sampler *sampler)
{
	pm_events_free(&sampler->open);
	pm_ids_free(&sampler->ids);
	for (size_t i = 0; i < sampler->rings.count; i++) {
		/* Not copied to a forked child: what is at that address there is its own. */
		sampler->rings.list[i].ring.borrowed |= sampler->pid != getpid();
		close_ring(sampler, &sampler->rings.list[i]);
	}
	pm_rings_free(&sampler->rings, false);
	free(sampler->heap);
	sampler->heap = NULL;
	sampler->heap_count = 0;
}
