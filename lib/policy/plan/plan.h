/* SPDX-License-Identifier: MIT */
/* Plans and the table of strategies, as their files share them; not installed. */
#ifndef PM_PLAN_H
#define PM_PLAN_H

#include "../profile/facts.h"
#include "../spec/spec.h"

#define PLAN_EVENTS_MAX 32
#define REASON_SIZE 480
#define FILTER_SIZE 512
#define CPUS_SIZE 256
#define CLOCKS_MAX 3

/* A fact that a strategy stands on. */
struct need {
	const char *key;
	bool certain;		/* must be yes; else it is enough that nothing speaks against it */
};

/* needs_NAME of a strategy, from a list of X(key, certain). */
#define PM_NEED(key, certain) { key, certain },
#define PM_NEEDS(name, list) \
	PM_FACTS(name, list); \
	static const struct need needs_##name[] = { list(PM_NEED) { NULL, false } }

struct pm_session;

/* What a strategy is able to do; everything else follows from it. */
enum ability {
	FOR_SELF = 1,		/* named threads, and all of this process */
	FOR_SYSTEM = 2,
	FOR_CGROUP = 4,
	CAN_SAMPLE = 8,
	CAN_COUNT = 16,
	BY_CPU = 32,		/* knows CPUs apart, so it can be limited to some */
	USES_PERF = 64,		/* opens events itself */
	INHERITS = 128,
	USES_RINGS = 256,
	GIVES_SUMS = 512,		/* pm_session_read works */
};

struct strategy {
	const char *name, *what;
	unsigned int able;		/* enum ability */
	const struct need *needs;	/* ends with a NULL key */
	const char *proof;		/* the fact that a failed canary refutes; or NULL */
	/* What else it takes: 0, or -errno and the reason, and maybe the cause. May be NULL. */
	int (*fits)(struct pm_plan *plan, char *reason, size_t size);
	void (*cost)(const struct pm_plan *plan, struct pm_cost *ret);
	/* Opens everything, enabled, or nothing; the diagnosis on failure. */
	int (*attach)(struct pm_session *session, struct pm_diag *diag);
};

extern const struct strategy pm_strategies[PM_STRATEGIES];

struct plan_event {
	struct pm_event_spec spec;	/* as asked; its filter is the copy below, or NULL */
	struct perf_event_attr attr;	/* as it will be opened, but for inherit and disabled */
	char filter[FILTER_SIZE];
	bool user_only, substituted;
	int error;			/* of the last trial, 0 it opens */
	int inherit_error;		/* of the trial with attr.inherit */
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
	MODIFIERS
};

struct pm_plan {
	struct plan_event events[PLAN_EVENTS_MAX];
	size_t count;
	struct pm_session_opts opts;
	char cpus[CPUS_SIZE];		/* "": all */
	struct pm_profile *profile;
	bool owns_profile;
	char profile_says[REASON_SIZE];	/* why it is another than the one that was named */
	bool samples;			/* some event is sampled */
	bool cloexec, identifier, clockid, lost, watermark, user_chain;	/* modifiers */
	char without[MODIFIERS][80];	/* why it is done without; "" else */
	int clocks[CLOCKS_MAX];		/* clockid_t to be tried, best first */
	size_t clock_count, clock;	/* the one in use */
	struct {			/* when the plan was made */
		size_t threads, cpus, descriptors;
		uint64_t lockable;	/* bytes */
	} now;
	bool brokered;			/* the broker opens what the kernel refuses to us */
	char broker_says[REASON_SIZE];	/* why it does not */
	bool via_broker;		/* the chosen strategy's events are opened by it */
	int chosen;
	unsigned int ring_pages;	/* of the chosen strategy, by the limits; then as mapped */
	bool fits[PM_STRATEGIES];
	bool doubted[PM_STRATEGIES];	/* it fits, but something was wrong on another build */
	char reason[PM_STRATEGIES][REASON_SIZE];	/* why it does not fit, or is doubted */
	enum pm_cause cause[PM_STRATEGIES];
	struct pm_diag refusal;		/* of the first event that does not open */
};

/* The chosen strategy did not work: says why and goes on to the next that fits. -ENOTSUP: none. */
int pm_plan_next(struct pm_plan *plan, const char *why);

/* Whether the chosen strategy has counters to be read that hold what was asked for. */
bool pm_plan_sums(const struct pm_plan *plan);

/* A strategy whose needs and limits hold: 0; else the reason and the cause are filled in. */
int pm_plan_weigh(struct pm_plan *plan, int row);

/* ---------------------------------------------------------------- negotiate.c: attrs by what works */

/* Builds the attr of each event by the modifiers and tries it on its target. */
void pm_plan_negotiate(struct pm_plan *plan);

/* ------------------------------------------------------------------------------------ modify.c */

/* Modifiers that the profile does not speak against, and the clocks to be tried. */
void pm_modify_begin(struct pm_plan *plan);

/*
 * The event was refused with all modifiers there are. Finds those at which it was, and does
 * without: 0 when it opens then. Else nothing is changed, and the errno is that of the bare event.
 */
int pm_modify_less(struct pm_plan *plan, struct plan_event *event,
		    int (*try)(struct pm_plan *plan, struct plan_event *event, bool inherit));

/* "CLOCK_MONOTONIC", "perf's own". */
const char *pm_modify_clock(const struct pm_plan *plan);

/* The fact that tells whether that clock (a clockid_t) stamps records. */
const char *pm_modify_clock_key(int clock);

/* What is done without: "close-on-exec from the start"; and what that means for the reader. */
const char *pm_modify_name(enum modifier modifier);

/* ------------------------------------------------------------------------------------- open.c */

/*
 * Opens an event with an attr made from its own: through the broker, in the cgroup, with the
 * filter, as the plan says. For PM_SYSTEM and PM_CGROUP `tid` is not looked at. Returns the
 * descriptor or -errno; may write attr->size.
 */
int pm_plan_open(const struct pm_plan *plan, const struct plan_event *event,
		 struct perf_event_attr *attr, pid_t tid, int cpu);

/* ----------------------------------------------------------------------------------- limits.c */

/* Threads and descriptors of this process, CPUs, memory that it may lock: fills plan->now. */
void pm_limit_look(struct pm_plan *plan);
size_t pm_thread_count(void);

/* ns that making a thread takes longer with what a strategy inherits; measured. 0 or -errno. */
int pm_tax_of(const struct pm_plan *plan, int row, uint64_t *ret);

/* 0, or -EMFILE and the reason. */
int pm_limit_descriptors(const struct pm_plan *plan, int row, char *reason, size_t size);

/* Data pages of each ring that the limits on locked memory leave; 0: not even one. */
unsigned int pm_limit_pages(const struct pm_plan *plan, uint64_t rings);

/* The limits in words, "kernel.perf_event_mlock_kb=516 a CPU and RLIMIT_MEMLOCK=64 kB". */
void pm_limit_locked_text(char *buf, size_t size);

void pm_cost_per_cpu(const struct pm_plan *plan, struct pm_cost *ret);
void pm_cost_own_rings(const struct pm_plan *plan, struct pm_cost *ret);
void pm_cost_per_thread(const struct pm_plan *plan, struct pm_cost *ret);
void pm_cost_cpu_wide(const struct pm_plan *plan, struct pm_cost *ret);
void pm_cost_broker(const struct pm_plan *plan, struct pm_cost *ret);
void pm_cost_counters(const struct pm_plan *plan, struct pm_cost *ret);
void pm_cost_counters_per_cpu(const struct pm_plan *plan, struct pm_cost *ret);
void pm_cost_none(const struct pm_plan *plan, struct pm_cost *ret);

#endif
