/* SPDX-License-Identifier: MIT */
/* Plans and the table of strategies, as their files share them; not installed. */
#ifndef PM_PLAN_H
#define PM_PLAN_H

#include "../perfmodes.h"
#include "../pm_sys.h"

#define PLAN_EVENTS_MAX 32
#define REASON_SIZE 400

/* A fact that a strategy stands on. */
struct need {
	const char *key;
	bool certain;		/* must be yes; else it is enough that nothing speaks against it */
};

struct pm_session;

struct strategy {
	const char *name, *what;
	const struct need *needs;	/* ends with a NULL key */
	/* Whether the events, options and limits suit it: 0, or -errno and the reason. */
	int (*fits)(const struct pm_plan *plan, char *reason, size_t size);
	void (*cost)(const struct pm_plan *plan, struct pm_cost *ret);
	/* Opens everything, enabled, or nothing; the diagnosis on failure. */
	int (*attach)(struct pm_session *session, struct pm_diag *diag);
};

extern const struct strategy pm_strategies[PM_STRATEGIES];

struct plan_event {
	struct pm_event_spec spec;	/* as asked */
	struct perf_event_attr attr;	/* as it will be opened, but for inherit and disabled */
	bool user_only, substituted;
	int error;			/* of the last trial, 0 it opens */
	char why[REASON_SIZE];		/* what changed, or why it does not open */
};

struct pm_plan {
	struct plan_event events[PLAN_EVENTS_MAX];
	size_t count;
	struct pm_session_opts opts;
	struct pm_profile *profile;
	bool owns_profile;
	bool samples;			/* some event is sampled */
	bool cloexec, identifier, clockid, lost;	/* modifiers */
	int chosen;
	bool fits[PM_STRATEGIES];
	char reason[PM_STRATEGIES][REASON_SIZE];	/* why it does not fit */
	struct pm_diag refusal;		/* of the first event that does not open */
};

/* The chosen strategy did not work: says why and goes on to the next that fits. -ENOTSUP: none. */
int pm_plan_next(struct pm_plan *plan, const char *why);

/* Builds the attr of each event by the modifiers and tries it on its target. */
void pm_plan_trial(struct pm_plan *plan);

/* Events that one may replace by timers of CPU time. */
bool pm_is_time(const struct pm_event_spec *spec);

/* Threads of this process and CPUs, for budgets. */
size_t pm_thread_count(void);
size_t pm_descriptors_open(void);

#endif
