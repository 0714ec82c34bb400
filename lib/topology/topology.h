/* SPDX-License-Identifier: MIT */
/* A set of events and its readings, as the files here share them; not installed. */
#ifndef PM_TOPOLOGY_INTERNAL_H
#define PM_TOPOLOGY_INTERNAL_H

#include <sys/types.h>

#include "perfmodes_topology.h"

#define EVENTS_MAX 32
#define CPUS_MAX 65536
#define NAME_BYTES 128

/* What one hardware thread has counted of one event. */
struct tally {
	uint64_t value, enabled, running, uncertain;
};

/* A table of tallies: a row for each CPU, in the order in which they were first seen. */
struct tallies {
	struct tally *list;		/* [row * events + event] */
	size_t rows;
};

struct reading {
	uint64_t time;
	struct tallies total;		/* since the set was opened: for windows */
	struct tallies shown;		/* as start and accumulate make it */
};

/* Where counts come from. */
struct source {
	enum pm_topology_source kind;
	int (*start)(struct pm_topology *set, struct pm_diag *diag);
	int (*take)(struct pm_topology *set);	/* brings set->total up to date */
	int (*stop)(struct pm_topology *set);
	void (*close)(struct pm_topology *set);
};

/* Where a thread is, and whether it was elsewhere since it was asked last. */
struct whereabouts {
	pid_t tid;			/* 0: the calling thread */
	int tied;			/* the CPU it cannot leave; -1: none */
	struct pm_counters *migrations;	/* NULL: they cannot be counted */
	uint64_t migrated;		/* when asked last */
	bool moved;			/* since then, or nobody knows */
};

struct pm_topology {
	hwloc_topology_t topology;
	const struct source *source;
	char names[EVENTS_MAX][NAME_BYTES];
	size_t events;
	struct pm_topology_opts opts;
	bool started;

	int *cpus;			/* by row; -1: none that is known */
	int *row_of;			/* by 1 + CPU: 1 + its row; 0: not seen */
	size_t rows;
	struct tallies total;		/* since open */
	struct tallies base;		/* what a reading begins from */
	struct tallies kept;		/* what accumulate has read so far */
	struct tallies before;		/* the sources' own: as handed in last */

	struct reading *readings;	/* a circle of opts.readings */
	size_t first, count;
	uint64_t last_time;

	/* of the sources */
	struct pm_event_spec specs[EVENTS_MAX + 1];
	struct pm_plan *plan;
	struct pm_session *session;
	struct pm_part *parts;
	size_t parts_room;
	struct pm_counters *counters;
	struct whereabouts where;
	uint64_t counted[EVENTS_MAX];	/* of one event without CPUs, as read last */
	struct sampling *sampling;
	int event_set;			/* of PAPI */
	bool papi_started;
};

/* readings.c */

/* The tally of this CPU (-1: unknown) and event in set->total; NULL: no memory, or no such CPU. */
struct tally *pm_topology_tally(struct pm_topology *set, int cpu, size_t event);

/* Adds to set->total what these parts count beyond the last call. 0 or -errno. */
int pm_topology_take_parts(struct pm_topology *set, const struct pm_part *parts, size_t count);

/* Forgets what that call has seen: the next parts count from 0. */
void pm_topology_forget_parts(struct pm_topology *set);

/* Makes set->total what readings begin from. 0 or -ENOMEM. */
int pm_topology_rebase(struct pm_topology *set);

/* Keeps a reading of set->total; with `fold` it is accumulated. Rows, or -ENOMEM. */
int pm_topology_keep(struct pm_topology *set, bool fold, uint64_t *ret);

const struct reading *pm_topology_reading(const struct pm_topology *set, size_t index);
void pm_topology_free_readings(struct pm_topology *set);

/* where.c */

/* The CPU where that thread is, or was last; 0: the calling thread. -errno when it is gone. */
int pm_where_cpu(pid_t tid);

/* Begins to watch the thread; that migrations cannot be counted is no failure. */
void pm_where_begin(struct whereabouts *where, pid_t tid, int tied);
void pm_where_end(struct whereabouts *where);

/*
 * Calls `read` until the thread was on one CPU meanwhile, some times at most. Returns that CPU, and
 * sets where->moved; -errno of `read` or when the thread is gone.
 */
int pm_where_read(struct whereabouts *where, int (*read)(struct pm_topology *set, uint64_t *ret),
		  struct pm_topology *set, uint64_t *ret);

/* exact.c, sampled.c, last.c: open what set->specs describe. 0 or -errno. */
int pm_exact_open(struct pm_topology *set, struct pm_diag *diag);
int pm_sampled_open(struct pm_topology *set, struct pm_diag *diag);
int pm_last_open(struct pm_topology *set, struct pm_diag *diag);

/* last.c: attributes counters of no CPU to where the thread is; what PAPI needs, too. */
int pm_last_begin(struct pm_topology *set, int (*read)(struct pm_topology *set, uint64_t *ret));
int pm_last_take(struct pm_topology *set, int (*read)(struct pm_topology *set, uint64_t *ret));

/* set.c: an empty set without a source; and how a failure of ours is told. */
int pm_topology_make(hwloc_topology_t topology, size_t events, const struct pm_topology_opts *opts,
		     struct pm_topology **ret);
int pm_topology_refuse(struct pm_diag *diag, int error, const char *text);

#endif
