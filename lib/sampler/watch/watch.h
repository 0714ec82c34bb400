/* SPDX-License-Identifier: MIT */
/* A sampler as its files share it; not installed. */
#ifndef PM_SAMPLER_WATCH_H
#define PM_SAMPLER_WATCH_H

#include "../../perfmodes_sampler.h"
#include "../../pm_sys.h"
#include "../../policy/engine/ids.h"
#include "../../policy/engine/late_cpus.h"
#include "../../policy/engine/pollable.h"
#include "../../policy/engine/rings.h"
#include "../../policy/engine/sums.h"
#include "../../policy/plan/cpus.h"
#include "processes.h"

#define EVENTS_MAX PLAN_EVENTS_MAX
#define WHY_SIZE 480

/* How processes are watched. */
enum way {
	WAY_CGROUP,		/* events on each CPU, of one cgroup */
	WAY_CPUS,		/* events on each CPU, of all that runs there */
	WAY_THREADS,		/* inheriting events of each thread, on each CPU */
	WAYS
};

/* A thread that was there at the start, and has not run since. */
struct proof_of {
	uint32_t tid;
	uint64_t used;			/* ns of CPU time by then */
};

struct watch_proof {
	struct proof_of *threads;
	size_t count, others;		/* others: too many to be looked at */
};

/* Periods that an event had, where its samples do not tell them: the last ones. */
#define RATES_MAX 8
struct rates {
	uint64_t first;			/* before all of these */
	struct { uint64_t time, period; } list[RATES_MAX];
	size_t count;
};

struct pm_sampler {
	struct pm_plan *plan;		/* its last event is for side-band */
	struct pm_format formats[SPECS_MAX];	/* of the plan's events */
	size_t count;			/* without the one for side-band */
	struct pm_sampler_opts opts;
	struct pm_sampler_listener listener;
	void *context;

	enum way way;
	char reasons[WAYS][WHY_SIZE];	/* why not, of those that were passed over */
	int cgroup;			/* descriptor of WAY_CGROUP, -1 */
	struct broker_use broker;
	struct pm_cpus on;
	unsigned int pages;

	struct event_list open;		/* owner: serial of a process, and tid; 0: of the CPU */
	struct event_ids ids;
	struct sums sums;
	struct ring_set rings;		/* one a CPU */
	void **heap;			/* rings that hold a record, the oldest first */
	size_t heap_count;
	struct pollable pollable;

	struct processes processes;
	struct threads threads;		/* WAY_THREADS: which have events of their own */
	struct late_cpus late;		/* WAY_THREADS: those that came, with the threads there */
	struct watch_proof proof;	/* WAY_THREADS: see prove.c */
	uint64_t followed_at, delivered_to, turn_began;	/* ns */
	bool running, ended;
	pid_t pid;			/* of the process that opened it */
	struct rates rates[EVENTS_MAX];
	struct pm_sampler_stats stats;
};

/* The period of a sample of this event, which was taken by that thread. */
uint64_t pm_watch_period(const struct pm_sampler *sampler, const struct session_event *opened,
			 const struct pm_sample *sample);

static inline bool pm_watch_leads(const struct pm_sampler *sampler, size_t event)
{
	return sampler->plan->events[event].led_by == event + 1;
}

static inline const struct plan_event *pm_watch_side(const struct pm_sampler *sampler)
{
	return &sampler->plan->events[sampler->count];
}

/* Whether opts.clock stamps records. */
static inline bool pm_watch_has_clock(const struct pm_sampler *sampler)
{
	return pm_plan_takes(sampler->plan, MODIFIER(CLOCK));
}

/* The records' clock; CLOCK_MONOTONIC stands for perf's own, which is close to it. */
static inline int pm_watch_clock(const struct pm_sampler *sampler)
{
	return sampler->opts.clock - 1;
}

#endif
