/* SPDX-License-Identifier: MIT */
/* A plan as its files share it; not installed. */
#ifndef PM_PLAN_H
#define PM_PLAN_H

#include "../spec/spec.h"
#include "strategy.h"

#define PLAN_EVENTS_MAX 32
#define FILTER_SIZE 512
#define EVENT_NAME 96
#define CPUS_SIZE 256
#define CLOCKS_MAX 3
#define HYBRID_CPUS 4096
#define HYBRID_NAME 64

struct plan_event {
	struct pm_event_spec spec;	/* as asked; its filter is the copy below, or NULL */
	uint32_t asked;			/* index of the caller's spec */
	struct perf_event_attr attr;	/* as it will be opened, but for inherit and disabled */
	char filter[FILTER_SIZE];
	char name[EVENT_NAME];		/* the caller's; "": none */
	char pmu[HYBRID_NAME];		/* one of several kinds of cores; "": any */
	unsigned char on[HYBRID_CPUS / 8];	/* with pmu: its CPUs, a bit each */
	char hybrid[160];		/* what was done because cores differ; "": nothing */
	bool user_only, substituted;
	bool around_us;			/* of a cgroup that this process is in */
	int cpu;			/* on which it is tried; -1: any */
	int trial;			/* opened last, kept meanwhile; -1: none */
	int error;			/* of the last attempt to open it; 0: it opens */
	int inherit_error;		/* of the attempt with attr.inherit */
	unsigned int precise;		/* attr.precise_ip */
	uint64_t frequency;		/* of its spec, or as much as the kernel takes */
	char why[REASON_SIZE];		/* what changed, or why it does not open */
};

/* What makes events better where the kernel takes it, oldest first. */
enum modifier {
	MODIFIER_WATERMARK,
	MODIFIER_IDENTIFIER,
	MODIFIER_CLOEXEC,
	MODIFIER_CALLCHAIN,		/* exclude_callchain_kernel */
	MODIFIER_CLOCK,
	MODIFIER_LOST,
	MODIFIERS_OF_FACTS,		/* those behind are asked for, and no fact tells of them */
	MODIFIER_MAPS = MODIFIERS_OF_FACTS,
	MODIFIER_MAPS2,
	MODIFIER_BUILD_IDS,
	MODIFIER_EXECS,
	MODIFIER_SWITCHES,
	MODIFIER_CGROUPS,
	MODIFIER_KSYMBOLS,
	MODIFIER_BRANCHES,
	MODIFIER_GROUP,
	MODIFIERS
};

/* A strategy as this plan sees it. */
struct candidate {
	const struct strategy *strategy;
	enum pm_strategy number;
	bool fits;
	bool doubted;			/* it fits, but something was wrong on another build */
	char reason[REASON_SIZE];	/* why it does not fit, or is doubted */
	enum pm_cause cause;
};

struct pm_plan {
	struct plan_event events[PLAN_EVENTS_MAX];
	size_t count;
	size_t asked;			/* specs of the caller: less where cores differ */
	struct pm_session_opts opts;
	char cpus[CPUS_SIZE];		/* "": all */
	struct pm_profile *profile;
	bool owns_profile;
	int kept;			/* the quick probe's event, while it is made; -1: none */
	char profile_says[REASON_SIZE];	/* why it is another than the one that was named */
	bool samples;			/* some event is sampled */
	bool cloexec, identifier, clockid, lost, watermark, user_chain;	/* modifiers */
	bool extra[MODIFIERS];		/* those that were asked for and are taken */
	char without[MODIFIERS][80];	/* why it is done without; "" else */
	int clocks[CLOCKS_MAX];		/* clockid_t to be tried, best first */
	size_t clock_count, clock;	/* the one in use */
	struct {			/* when the plan was made */
		size_t threads, cpus, descriptors;
		int first_cpu;		/* -errno: none of those that were asked for is online */
		uint64_t lockable;	/* bytes */
	} now;
	int threads_refused;		/* -errno: attr.inherit_thread is not taken; 0: it is */
	bool brokered;			/* the broker opens what the kernel refuses to us */
	char broker_says[REASON_SIZE];	/* why it does not */
	bool via_broker;		/* the chosen strategy's events are opened by it */
	int chosen;			/* index of a candidate */
	unsigned int ring_pages;	/* of the chosen strategy, by the limits; then as mapped */
	bool limited;			/* by those on locked memory, not by their number alone */
	struct candidate candidates[STRATEGIES];	/* in the order of preference */
	char unproven[REASON_SIZE];	/* what the attach could not prove; "": nothing */
	struct pm_diag refusal;		/* of the first event that does not open */
};

static inline const struct strategy *pm_plan_chosen(const struct pm_plan *plan)
{
	return plan->candidates[plan->chosen].strategy;
}

static inline bool pm_plan_is_sampled(const struct plan_event *event)
{
	return event->spec.period != 0 || event->spec.frequency != 0;
}

/* What later threads are to inherit: by threads alone, as long as the kernel takes that. */
static inline void pm_plan_set_inherit(const struct pm_plan *plan, struct perf_event_attr *attr,
				       bool inherit)
{
	attr->inherit = inherit;
	attr->inherit_thread = inherit && plan->threads_refused == 0;
}

/* Whether the sums of an event would hold what child processes do: they inherit it as well. */
static inline bool pm_plan_counts_children(const struct pm_plan *plan,
					   const struct plan_event *event, unsigned int able)
{
	return plan->threads_refused < 0 && event->spec.tid == PM_ALL_THREADS &&
		(able & GIVES_SUMS) && (able & (INHERITS | BY_OTHERS));
}

/* Whether threads of this process are to be observed that do not exist yet. */
static inline bool pm_plan_watches_all(const struct pm_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.tid == PM_ALL_THREADS)
			return true;
	return false;
}

#endif
