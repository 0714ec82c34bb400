/* SPDX-License-Identifier: MIT */
/*
 * Events of CPUs. They die with their CPU: most kernels tell nobody, and they stay dead when the
 * CPU is back. So the online CPUs are looked at once a second. What ran on a CPU from its return
 * until it was noticed is missing; `late_cpus` says so.
 */
#include "cpus.h"

#include <errno.h>
#include <stdlib.h>

#include "../../policy/diagnosis/diag.h"
#include "../../policy/spec/now.h"
#include "rings.h"
#include "threads.h"

/* -------------------------------------------------------------------------------------- opening */

static int open_all_on_cpu(struct pm_sampler *sampler, int cpu)
{
	const size_t events = sampler->open.count, rings = sampler->rings.count;
	struct session_event wanted = { .spec = (uint32_t)sampler->count, .tid = -1, .cpu = cpu };
	int err = pm_events_open(&sampler->open, &wanted, false), side;

	if (err < 0)
		return err;
	side = sampler->open.list[err].fd;
	err = pm_watch_map(sampler, side, cpu);
	if (err == 0)
		err = pm_watch_open_on(sampler, &wanted, side, sampler->count);
	if (err < 0) {
		pm_rings_close_since(&sampler->rings, rings);
		pm_events_close_since(&sampler->open, events);
	}
	return err;
}

int pm_watch_open_cpus(struct pm_sampler *sampler, struct pm_diag *diag)
{
	for (size_t i = 0; i < sampler->on.count; i++) {
		const int cpu = sampler->on.list[i];
		int err = open_all_on_cpu(sampler, cpu);

		if (err >= 0)
			continue;
		if (err != -ENODEV)
			return pm_diag_say(diag, -err, err == -EMFILE ? PM_CAUSE_DESCRIPTORS :
					   PM_CAUSE_UNKNOWN, "sampler: events on cpu %d: %s", cpu,
					   pm_errno_name(-err));
	}
	return sampler->rings.count > 0 ? 0 : pm_diag_say(diag, ENODEV, PM_CAUSE_NO_TARGET,
							 "sampler: no CPU is online");
}

/* --------------------------------------------------------------------------------------- follow */

/* The ring is of the event for side-band. */
static bool is_dead(const struct pm_sampler *sampler, struct session_ring *ring, uint64_t now)
{
	return pm_liveness_lost(&ring->liveness, ring->cpu,
				sampler->way == WAY_CGROUP ? -1 : ring->fd,
				sampler->open.read_format[sampler->count], now);
}

static void attach_late(struct pm_sampler *sampler, int cpu)
{
	const size_t before = sampler->open.count;

	if ((sampler->way == WAY_THREADS ? pm_watch_open_late(sampler, cpu) :
	     open_all_on_cpu(sampler, cpu)) < 0) {
		sampler->stats.unwatched++;
		return;
	}
	sampler->stats.late_cpus++;
	(void)pm_events_enable_since(&sampler->open, before, NULL);
}

void pm_watch_follow_cpus(struct pm_sampler *sampler)
{
	struct pm_cpus online;
	const uint64_t now = pm_now();
	int err = pm_cpus_list(sampler->plan->cpus, NULL, &online);

	if (err != 0 && err != -ENODEV)
		return;
	/* Events of a thread on a CPU survive while the CPU is offline; one that comes has none. */
	for (size_t i = 0; sampler->way != WAY_THREADS && i < sampler->rings.count; i++)
		if (!pm_cpus_hold(&online, sampler->rings.list[i].cpu) ||
		    is_dead(sampler, &sampler->rings.list[i], now))
			pm_watch_let_go(sampler, &sampler->rings.list[i]);
	pm_watch_drop_dead(sampler);
	/* What a ring holds yet is delivered first. */
	for (size_t i = 0; i < online.count; i++)
		if (!pm_watch_has_ring(sampler, online.list[i]))
			attach_late(sampler, online.list[i]);
	free(online.list);
}
