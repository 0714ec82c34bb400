/* SPDX-License-Identifier: MIT */
/* Mapping rings, and sharing one ring among the events of a CPU. */
#include "rings.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../diagnosis/diag.h"

int pm_rings_map(struct ring_set *rings, const struct session_event *leader, size_t pages)
{
	struct session_ring ring = {
		.fd = leader->fd, .cpu = leader->cpu, .tid = leader->tid, .spec = leader->spec,
	};
	int err = pm_make_room(&rings->list, rings->count, &rings->room, sizeof(ring));

	if (err == 0)
		err = pm_ring_open(ring.fd, pages, PROT_READ | PROT_WRITE, &ring.ring);
	if (err < 0)
		return err;
	rings->list[rings->count++] = ring;
	if (pages < *rings->pages)
		*rings->pages = (unsigned int)pages;
	return 0;
}

int pm_rings_map_less(struct ring_set *rings, const struct session_event *leader)
{
	size_t pages = *rings->pages;
	int err;

	do {
		err = pm_rings_map(rings, leader, pages);
		pages /= 2;
	} while ((err == -EPERM || err == -ENOMEM) && pages > 0);
	return err;
}

/* -------------------------------------------------------------------------- one ring for a CPU */

/* The main thread's event, if there is one: wake-ups stop when the leader's thread ends. */
static const struct session_event *find_leader(const struct event_list *events, int cpu)
{
	const struct session_event *leader = NULL;
	const pid_t pid = getpid();

	for (size_t i = 0; i < events->count; i++) {
		if (events->list[i].cpu != cpu)
			continue;
		if (events->list[i].tid == pid)
			return &events->list[i];
		if (leader == NULL)
			leader = &events->list[i];
	}
	return leader;
}

static int map_with(struct ring_set *rings, const struct event_list *events,
		    const struct pm_cpus *cpus, size_t pages)
{
	const size_t before = rings->count;

	for (size_t i = 0; i < cpus->count; i++) {
		const struct session_event *leader = find_leader(events, cpus->list[i]);
		int err = leader ? pm_rings_map(rings, leader, pages) : -ESRCH;

		if (err < 0) {
			pm_rings_close_since(rings, before);
			return err;
		}
	}
	return 0;
}

static int map_all(struct ring_set *rings, const struct event_list *events,
		   const struct pm_cpus *cpus, struct pm_diag *diag)
{
	size_t pages = *rings->pages;
	int err;

	do {
		err = map_with(rings, events, cpus, pages);
		pages /= 2;
	} while ((err == -EPERM || err == -ENOMEM) && pages > 0);
	return err < 0 ? pm_diag_map(diag, cpus->count, (size_t)sysconf(_SC_PAGESIZE), -err) : 0;
}

static int forward_all(const struct ring_set *rings, const struct event_list *events, size_t first,
		       struct pm_diag *diag)
{
	for (size_t i = first, at = 0; i < events->count; i++) {
		const struct session_event *event = &events->list[i];
		int err;

		/* Events repeat the order of CPUs, so this is the next ring as a rule. */
		while (rings->list[at].cpu != event->cpu)
			at = (at + 1) % rings->count;
		if (rings->list[at].fd == event->fd)
			continue;
		err = pm_ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT,
			       (unsigned long)rings->list[at].fd);
		if (err < 0)
			return pm_diag_say(diag, -err, PM_CAUSE_UNSUPPORTED,
					   "PERF_EVENT_IOC_SET_OUTPUT between threads on cpu %d: "
					   "%s", event->cpu, pm_errno_name(-err));
	}
	return 0;
}

int pm_rings_share(struct ring_set *rings, const struct event_list *events,
		   const struct pm_cpus *cpus, size_t first, struct pm_diag *diag)
{
	int err = map_all(rings, events, cpus, diag);

	return err < 0 ? err : forward_all(rings, events, first, diag);
}

/* ---------------------------------------------------------------------------------------- ends */

void pm_rings_close_since(struct ring_set *rings, size_t count)
{
	while (rings->count > count)
		pm_ring_close(&rings->list[--rings->count].ring);
}

void pm_rings_forget_closed(struct ring_set *rings)
{
	size_t kept = 0;

	for (size_t i = 0; i < rings->count; i++)
		if (rings->list[i].ring.base != NULL)
			rings->list[kept++] = rings->list[i];
	rings->count = kept;
}

void pm_rings_free(struct ring_set *rings, bool forked)
{
	for (size_t i = 0; i < rings->count; i++) {
		struct pm_ring *ring = &rings->list[i].ring;

		/* Rings are not copied to a child: what is at that address there is its own. */
		ring->borrowed |= forked;
		if (ring->base != NULL)
			pm_ring_close(ring);
	}
	free(rings->list);
	rings->list = NULL;
	rings->count = rings->room = 0;
}
