/* SPDX-License-Identifier: MIT */
/* A sampler as its files share it; not installed. */
#ifndef PM_SAMPLER_WATCH_H
#define PM_SAMPLER_WATCH_H

#include "../../perfmodes_sampler.h"
#include "../../pm_sys.h"
#include "../../policy/engine/ids.h"
#include "../../policy/engine/rings.h"
#include "../../policy/engine/sums.h"
#include "../../policy/engine/threads.h"
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

/* What an event may have besides; it does without where the kernel refuses it. */
enum extra {
	EXTRA_CLOCK, EXTRA_NO_CHILDREN, EXTRA_LOST, EXTRA_COMM_EXEC, EXTRA_MMAP2,
	EXTRA_BUILD_ID, EXTRA_SWITCH, EXTRA_CGROUPS, EXTRA_KSYMBOL, EXTRA_DEFER_OUTPUT,
	EXTRA_VALUES, EXTRA_CHAIN, EXTRA_HALF_CHAIN, EXTRA_FRAMES, EXTRA_DEFERRED,
	EXTRA_REGISTERS, EXTRA_STACK, EXTRA_BRANCHES, EXTRA_WEIGHT, EXTRA_SOURCE, EXTRA_CGROUP,
	EXTRA_PINNED, EXTRA_EXCLUSIVE,
	EXTRAS
};

/* An event as asked for, and as it is opened. The last one of a sampler is for side-band. */
struct watch_event {
	struct pm_event_spec spec;
	char filter[FILTER_SIZE];
	size_t leader;			/* index; its own when it leads */
	size_t members;			/* of a leader: with itself */
	unsigned int flags, precise;	/* as asked for */
	bool side;
	uint32_t wanted, extras;	/* 1 << enum extra: to be had, and left of it */
	unsigned int precise_left;
	int trial_cpu;
	bool user_only;
	struct perf_event_attr attr;
	struct pm_format format;
	char why[WHY_SIZE];		/* what is not as asked for; "" else */
};

/* A CPU that came online after the start, in WAY_THREADS: which threads have events of it. */
struct late_cpu {
	int cpu;
	struct threads threads;
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

struct pm_sampler {
	struct watch_event events[EVENTS_MAX + 1];
	size_t count;			/* without the one for side-band */
	struct pm_sampler_opts opts;
	char cpus[CPUS_SIZE];
	struct pm_profile *profile;
	bool owns_profile;
	struct pm_sampler_listener listener;
	void *context;

	enum way way;
	char reasons[WAYS][WHY_SIZE];	/* why not, of those that were passed over */
	int cgroup;			/* descriptor of WAY_CGROUP, -1 */
	bool clockid;			/* opts.clock stamps records */
	bool broker_gone;		/* it hung up, said nonsense, or nothing in time */
	int broker_error;		/* its last refusal, -errno; 0: none */
	struct pm_cpus on;
	unsigned int pages;

	struct event_list open;		/* owner: serial of a process, and tid; 0: of the CPU */
	struct event_ids ids;
	struct sums sums;
	struct ring_set rings;		/* one a CPU */
	size_t *heap, heap_count;	/* rings that hold a record, the oldest first */
	int epoll, timer;

	struct processes processes;
	struct threads threads;		/* WAY_THREADS: which have events of their own */
	struct late_cpu *late;
	size_t late_count;
	struct watch_proof proof;	/* WAY_THREADS: see prove.c */
	uint64_t followed_at, delivered_to, turn_began;	/* ns */
	bool running, ended;
	pid_t pid;			/* of the process that opened it */
	struct pm_sampler_stats stats;
};

static inline bool pm_watch_leads(const struct pm_sampler *sampler, size_t event)
{
	return sampler->events[event].leader == event;
}

static inline bool pm_watch_samples(const struct watch_event *event)
{
	return event->spec.period != 0 || event->spec.frequency != 0;
}

/* The records' clock; CLOCK_MONOTONIC stands for perf's own, which is close to it. */
static inline int pm_watch_clock(const struct pm_sampler *sampler)
{
	return sampler->opts.clock - 1;
}

#endif
