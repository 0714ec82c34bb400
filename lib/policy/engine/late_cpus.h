/* SPDX-License-Identifier: MIT */
/* CPUs that come and go under a session or a sampler; not installed. */
#ifndef PM_LATE_CPUS_H
#define PM_LATE_CPUS_H

#include "../../perfmodes.h"
#include "../plan/plan.h"
#include "liveness.h"
#include "threads.h"

struct pm_session;

/* A CPU that came after the attach, and each one whose events die with it. */
struct session_cpu {
	int cpu;
	bool refused;			/* it could not be attached; that is told once */
	bool ended;			/* events on it died, and counted this: */
	struct pm_value folded[PLAN_EVENTS_MAX];
	struct cpu_liveness liveness;
	struct threads threads;		/* of listings for this CPU */
};

struct late_cpus {
	struct session_cpu *list;
	size_t count;
	uint64_t seen_at;		/* ns; 0: to be looked at now */
	bool complete;			/* there is none without events, nor will be */
};

/*
 * Once a second, or now: attaches to CPUs that came online, lets go of events that died with
 * their CPU, and keeps account of both. Nothing where the strategy does not know CPUs apart.
 */
void pm_late_cpus_follow(struct pm_session *session, bool now);

/* Whether any may come, or go with its events, so that it has to be looked. */
bool pm_late_cpus_may_come(const struct pm_session *session);

/* What is known of a CPU; NULL: nothing. */
struct session_cpu *pm_late_cpus_find(const struct late_cpus *cpus, int cpu);

/* The same, made where there is nothing; NULL: no memory. */
struct session_cpu *pm_late_cpus_make(struct late_cpus *cpus, int cpu);

/* Frees what is known of such CPUs. */
void pm_late_cpus_free(struct late_cpus *cpus);

#endif
