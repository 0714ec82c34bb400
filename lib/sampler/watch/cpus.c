/* SPDX-License-Identifier: MIT */
/*
 * Events of CPUs. They die with their CPU: most kernels tell nobody, and they stay dead when the
 * CPU is back. So the online CPUs are looked at once a second. What ran on a CPU from its return
 * until it was noticed is missing; `late_cpus` says so.
 */
#include "cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "../../policy/diagnosis/diag.h"
#include "negotiate.h"
#include "rings.h"

/* -------------------------------------------------------------------------------------- opening */

static void give_up_cpu(struct pm_sampler *sampler, int cpu)
{
	pm_watch_let_go(sampler, cpu);
	pm_watch_drop_dead(sampler);
	pm_watch_close_of(sampler, 0, cpu);
}

static int open_on_cpu(struct pm_sampler *sampler, size_t event, int cpu, int group)
{
	struct session_event opened = { .spec = (uint32_t)event, .cpu = cpu };

	opened.fd = pm_watch_open_event(sampler, &sampler->events[event], 0, cpu, group);
	return opened.fd < 0 ? opened.fd : pm_watch_add(sampler, &opened);
}

static int open_all_on_cpu(struct pm_sampler *sampler, int cpu)
{
	int fds[EVENTS_MAX], side = open_on_cpu(sampler, sampler->count, cpu, -1);
	int err = side < 0 ? side : pm_watch_map(sampler, side, cpu);

	for (size_t i = 0; err >= 0 && i < sampler->count; i++) {
		const size_t leader = sampler->events[i].leader;
		const bool leads = leader == i;

		fds[i] = leads || fds[leader] >= 0 ?
			open_on_cpu(sampler, i, cpu, leads ? -1 : fds[leader]) : -ENOENT;
		if (fds[i] < 0 && !pm_watch_is_of_event(fds[i]))
			err = fds[i];
		else if (fds[i] >= 0 && pm_watch_samples(&sampler->events[i]))
			err = pm_ioctl(fds[i], PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)side);
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
		give_up_cpu(sampler, cpu);
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
	return pm_pulse_stands(&ring->pulse, ring->cpu, sampler->way == WAY_CGROUP ? -1 : ring->fd,
			       sampler->open.read_format[sampler->count], now);
}

static void attach_late(struct pm_sampler *sampler, int cpu)
{
	const size_t before = sampler->open.count;

	if (open_all_on_cpu(sampler, cpu) < 0) {
		give_up_cpu(sampler, cpu);
		sampler->stats.unwatched++;
		return;
	}
	sampler->stats.late_cpus++;
	for (size_t i = before; i < sampler->open.count; i++)
		if (pm_watch_leads(sampler, sampler->open.list[i].spec))
			(void)pm_ioctl(sampler->open.list[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

void pm_watch_follow_cpus(struct pm_sampler *sampler)
{
	struct pm_cpus online;
	uint64_t now = 0;
	int err = pm_cpus_list(sampler->cpus, NULL, &online);

	(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	if (err != 0 && err != -ENODEV)
		return;
	for (size_t i = 0; i < sampler->rings.count; i++)
		if (!pm_cpus_hold(&online, sampler->rings.list[i].cpu) ||
		    is_dead(sampler, &sampler->rings.list[i], now))
			pm_watch_let_go(sampler, sampler->rings.list[i].cpu);
	pm_watch_drop_dead(sampler);
	/* What a ring holds yet is delivered first. */
	for (size_t i = 0; i < online.count; i++)
		if (!pm_watch_has_ring(sampler, online.list[i]))
			attach_late(sampler, online.list[i]);
	free(online.list);
}
