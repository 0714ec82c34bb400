/* SPDX-License-Identifier: MIT */
/*
 * What a strategy is. Each is a file of ../strategy that exports its row; ../strategy/order.c
 * lists the rows. Not installed.
 */
#ifndef PM_STRATEGY_H
#define PM_STRATEGY_H

#include <signal.h>

#include "../../perfmodes.h"
#include "../profile/facts.h"

#define REASON_SIZE 480

struct candidate;
struct pm_cpus;
struct signal_ring;
struct signal_sample;

/* A fact that a strategy stands on: the key of a point in the catalogue of probes. */
struct need {
	const char *key;
	bool certain;		/* must be yes; else it is enough that nothing speaks against it */
};

/* needs_NAME of a strategy, from a list of X(key, certain). */
#define PM_NEED(key, certain) { key, certain },
#define PM_NEEDS(name, list) \
	PM_FACTS(name, list); \
	static const struct need needs_##name[] = { list(PM_NEED) { NULL, false } }

/* The needs of a strategy that does without perf. */
extern const struct need pm_needs_nothing[];

/* What a strategy is able to do. */
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
	GIVES_SUMS = 512,	/* pm_session_read works */
	OWNED_BY_CPU = 1024,	/* events are of a CPU, die with it, tell of all that runs there */
	RING_PER_EVENT = 2048,	/* a record shows in the ring of the event's own thread only */
	GIVES_GROUPS = 8192,	/* opens events in groups, whose values are in samples */
	BY_OTHERS = 4096,	/* another process opens the events, if there is one */
};

/*
 * How a session works by a strategy. NULL, where that is allowed, means the usual: no CPUs to
 * follow, no threads to follow, samples in rings, nothing to prove, nothing more to undo.
 */
struct operations {
	/* Opens and enables everything or fails with a diagnosis; the session undoes the rest. */
	int (*attach)(struct pm_session *session, struct pm_diag *diag);
	/* The same on some CPUs, also on those that come online later. May be NULL. */
	int (*attach_cpus)(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag);
	/* At each poll, after the drain: new threads are attached to, ended ones let go. */
	void (*follow)(struct pm_session *session);
	/* Delivers what has come otherwise than by rings; nobody wakes the reader then. */
	int (*drain)(struct pm_session *session);
	/* How long that may wait while nothing happens, for want of room; 0: as long as rings. */
	unsigned int quiet_ms;
	/* Causes what must show, and looks for it: 0, or -EIO and the reason. */
	int (*prove)(struct pm_session *session, bool patient, char *reason, size_t size);
	/* Before events and rings are closed; in a forked child, too. */
	void (*undo)(struct pm_session *session);
	/* In the signal handler: false for a signal of others; else fills count and source. */
	bool (*accept)(struct signal_ring *ring, const siginfo_t *info, struct signal_sample *ret);
	/*
	 * In the reader: false for what is not to be delivered. Sets event and period; NULL: all is
	 * of the first event, and the period is the weight that `accept` gave.
	 */
	bool (*describe)(struct pm_session *session, const struct signal_sample *sample,
			 struct pm_observed *ret);
};

/* How many there are on this machine: order.c has them. */
#ifdef __powerpc64__
#define STRATEGIES 12
#else
#define STRATEGIES 11
#endif

/* One and its number in the ABI. */
struct ranked {
	enum pm_strategy number;
	const struct strategy *strategy;
};

struct strategy {
	const char *name, *what;
	unsigned int able;		/* enum ability */
	const struct need *needs;	/* ends with a NULL key */
	const char *proof;		/* the fact that a failed canary denies; or NULL */
	/* What else it takes: 0, or -errno and the reason, and maybe the cause. May be NULL. */
	int (*fits)(const struct pm_plan *plan, struct candidate *candidate);
	/* Fills in opens, descriptors and rings for the threads and CPUs that are set. */
	void (*cost)(const struct pm_plan *plan, struct pm_cost *ret);
	const struct operations *operations;
};

#endif
