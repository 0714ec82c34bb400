/* SPDX-License-Identifier: MIT */
/* A plan as its files share it; not installed. */
#ifndef PM_PLAN_H
#define PM_PLAN_H

#include "../spec/spec.h"
#include "strategy.h"

#define PLAN_EVENTS_MAX 32		/* asked for; a sampler has one more, for side-band */
#define SPECS_MAX (PLAN_EVENTS_MAX + 1)
#define FILTER_SIZE 512
#define EVENT_NAME 96
#define CPUS_SIZE 256
#define CLOCKS_MAX 3
#define HYBRID_CPUS 4096
#define HYBRID_NAME 64

struct plan_event {
	struct pm_event_spec spec;	/* as asked; its filter is the copy below, or NULL */
	uint32_t asked;			/* index of the caller's spec */
	struct perf_event_attr negotiated;	/* as the kernel took it, for any strategy */
	struct perf_event_attr attr;	/* as it will be opened, but for inherit and disabled */
	char filter[FILTER_SIZE];
	char name[EVENT_NAME];		/* the caller's; "": none */
	char pmu[HYBRID_NAME];		/* one of several kinds of cores; "": any */
	unsigned char on[HYBRID_CPUS / 8];	/* with pmu: its CPUs, a bit each */
	char hybrid[160];		/* what was done because cores differ; "": nothing */
	bool sampled;			/* a period or a frequency is asked for */
	bool user_only, substituted;
	bool around_us;			/* of a cgroup that this process is in */
	bool side;			/* it tells of its target beside the samples */
	bool exclusive;			/* alone on its PMU, where it leads */
	uint32_t led_by;		/* 1 + index of who leads it; 0: PM_WANT_GROUP decides */
	uint32_t modifiers;		/* where they are each event's own: bits of enum modifier */
	int cpu;			/* on which it is tried; -1: any */
	int trial;			/* opened last, kept meanwhile; -1: none */
	int error;			/* of the last attempt to open it; 0: it opens */
	int inherit_error;		/* of the attempt with attr.inherit */
	unsigned int precise, precise_most;	/* attr.precise_ip, and as asked for */
	uint64_t frequency;		/* of its spec, or as much as the kernel takes */
	char why[REASON_SIZE];		/* what changed, or why it does not open */
};

/*
 * What makes events better where the kernel takes it, in the order in which it is tried. The first
 * ones a fact tells of; those behind are asked for, and no fact tells of them.
 */
enum modifier {
	MODIFIER_WATERMARK,
	MODIFIER_IDENTIFIER,
	MODIFIER_CLOEXEC,
	MODIFIER_CALLCHAIN,		/* exclude_callchain_kernel or _user */
	MODIFIER_CLOCK,
	MODIFIER_LOST,
	MODIFIERS_OF_FACTS,
	MODIFIER_THREADS = MODIFIERS_OF_FACTS,	/* inherited by threads alone */
	MODIFIER_MAPS,
	MODIFIER_MAPS2,
	MODIFIER_BUILD_IDS,
	MODIFIER_EXECS,
	MODIFIER_SWITCHES,
	MODIFIER_CGROUPS,
	MODIFIER_KSYMBOLS,
	MODIFIER_DEFERRED_PARTS,
	MODIFIER_GROUP,
	MODIFIER_CHAIN,
	MODIFIER_FRAMES,
	MODIFIER_DEFERRED,
	MODIFIER_REGISTERS,
	MODIFIER_STACK,
	MODIFIER_BRANCHES,
	MODIFIER_WEIGHT,
	MODIFIER_SOURCE,
	MODIFIER_CGROUP,
	MODIFIERS
};

#define MODIFIER(name) (UINT32_C(1) << MODIFIER_##name)

/* A broker that is asked for what is refused to this process. */
struct broker_use {
	int socket;			/* -1: there is none */
	bool gone;			/* it hung up, said nonsense, or nothing in time */
	int error;			/* its last refusal, -errno; 0: none */
	uint64_t opened, refused;
};

/* A strategy as this plan sees it. */
struct candidate {
	const struct strategy *strategy;
	enum pm_strategy number;
	bool fits;
	bool doubted;			/* it fits, but something was wrong on another build */
	bool unfit;			/* for this target, whatever else holds */
	char reason[REASON_SIZE];	/* why it does not fit, or is doubted */
	enum pm_cause cause;
};

/* Says why it does not fit. Returns -error. The cause, where none is set, follows from that. */
int pm_rule_out(struct candidate *candidate, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The events of a sampler: each has a layout and modifiers of its own, and is opened on single
 * CPUs, of which some may not have its PMU.
 */
struct plan_apart {
	const struct pm_cpus *cpus;	/* NULL: not so */
	bool inherits, children;	/* by threads, and by processes as well */
	pid_t tid;			/* of a thread that it is tried on; 0: the calling one */
	struct broker_use *broker;
	unsigned int wake_at;		/* bytes in a ring that wake its reader */
	unsigned int frames, stack;	/* as in struct pm_sampler_opts; 0: the default */
	uint64_t registers, branches;	/* likewise */
};

struct pm_plan {
	struct plan_event events[SPECS_MAX];
	size_t count;
	size_t asked;			/* specs of the caller: less where cores differ */
	struct pm_session_opts opts;
	char cpus[CPUS_SIZE];		/* "": all */
	struct pm_profile *profile;
	bool owns_profile;
	int kept;			/* the quick probe's event, while it is made; -1: none */
	const char *senseless;		/* what of the specs or options makes no sense */
	char profile_says[REASON_SIZE];	/* why it is another than the one that was named */
	bool samples;			/* some event is sampled */
	unsigned int want;		/* of all events, enum pm_want */
	uint32_t modifiers;		/* bits of enum modifier */
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
	struct candidate *chosen;	/* one of those below */
	unsigned int ring_pages;	/* of the chosen strategy, by the limits; then as mapped */
	bool limited;			/* by those on locked memory, not by their number alone */
	struct candidate candidates[STRATEGIES];	/* in the order of preference */
	char unproven[REASON_SIZE];	/* what the attach could not prove; "": nothing */
	struct pm_diag refusal;		/* of the first event that does not open */
	struct plan_apart apart;
};

/* Whether all events have it; of events apart, whether it is asked for. */
static inline bool pm_plan_takes(const struct pm_plan *plan, uint32_t modifier)
{
	return plan->modifiers & modifier;
}

/* Those modifiers which all events have or none, because they share rings and are opened alike. */
#define MODIFIERS_OF_ALL (MODIFIER(WATERMARK) | MODIFIER(IDENTIFIER) | MODIFIER(CLOEXEC) | \
			  MODIFIER(CLOCK) | MODIFIER(THREADS))

/* The modifiers that the event has. */
static inline uint32_t pm_plan_modifiers(const struct pm_plan *plan,
					 const struct plan_event *event)
{
	if (plan->apart.cpus == NULL)
		return plan->modifiers;
	return (plan->modifiers & MODIFIERS_OF_ALL) | (event->modifiers & ~MODIFIERS_OF_ALL);
}

/* What later threads are to inherit: by threads alone, as long as the kernel takes that. */
static inline void pm_plan_set_inherit(const struct pm_plan *plan, struct perf_event_attr *attr,
				       bool inherit)
{
	attr->inherit = inherit;
	attr->inherit_thread = inherit && (plan->apart.cpus == NULL ?
		plan->threads_refused == 0 : pm_plan_takes(plan, MODIFIER(THREADS)));
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
