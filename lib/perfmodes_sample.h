/* SPDX-License-Identifier: MIT */
/*
 * What a session delivers. Part of perfmodes.h, which includes it and tells the conventions.
 */
#ifndef PERFMODES_H
#include "perfmodes.h"	/* includes this, too, at its place */
#endif
#ifndef PERFMODES_SAMPLE_H
#define PERFMODES_SAMPLE_H

/*
 * A branch, as PERF_SAMPLE_BRANCH_STACK tells it: the kernel's struct perf_branch_entry, which does
 * not grow. (0.1)
 */
struct pm_branch { uint64_t from, to, flags; };

/*
 * What an event of the group of a sample had counted by then, as perf_event_open(2) has it with
 * PERF_SAMPLE_READ: since it was opened, and for what pm_plan_explain tells under "group values".
 * (0.1)
 */
struct pm_member {
	size_t size;			/* set by the library; of the array: in its first */
	size_t event;			/* index of the spec; SIZE_MAX: unknown */
	uint64_t value;
	uint64_t lost;			/* samples that the kernel dropped (v6.0); 0 before */
};

/* One sample. Arrays are valid during the callback only. (0.1) */
struct pm_observed {
	size_t size;			/* set by the library: how much of it there is */
	size_t event;			/* index of the spec */
	uint32_t pid, tid;
	uint32_t cpu;			/* UINT32_MAX when unknown */
	uint64_t time;			/* ns; of CLOCK_MONOTONIC if pm_plan_explain says so */
	uint64_t ip, address;		/* 0 when unknown */
	/*
	 * Events, or ns, that it stands for: the period of the spec; with a frequency what the
	 * kernel told, with a period of 1 the weight of the occurrence, 1 but for few tracepoints.
	 */
	uint64_t period;
	const uint64_t *callchain;	/* with PM_WANT_CALLCHAIN, context marks included */
	size_t callchain_count;
	const void *raw;		/* with PM_WANT_RAW; not of timers and signals */
	size_t raw_size;		/* with the padding that the kernel adds */
	const struct pm_branch *branches;	/* with PM_WANT_BRANCHES, newest first */
	size_t branch_count;
	const struct pm_member *group;	/* with PM_WANT_GROUP; the leader, the first spec, first */
	size_t group_count;
	/*
	 * ns, of the leader: as in struct pm_value. Both are 0 where PM_STRATEGY_PER_CPU has groups
	 * with hardware events that are not pinned: their share of time is not known.
	 */
	uint64_t group_enabled, group_running;
};

/*
 * Callbacks for records; each may be NULL. They run in the thread that calls poll, run, attach,
 * read, detach, destroy or pm_session_open. A callback must not poll, detach or destroy the
 * session; it may call pm_session_interrupt and pm_session_read. (0.1)
 */
struct pm_listener {
	size_t size;			/* sizeof(struct pm_listener) */
	void (*sample)(void *context, const struct pm_observed *sample);
	/* A thread was created (`parent` >= 0) or has ended (-1). */
	void (*task)(void *context, int tid, int parent, uint64_t time);
	/* The kernel reports that it dropped this many records of one ring. */
	void (*lost)(void *context, uint64_t count);
	/* Any other whole record, header first, as the kernel wrote it. */
	void (*other)(void *context, const void *record, size_t size);
};

#endif
