/* SPDX-License-Identifier: MIT */
/*
 * The rows of the matrix of strategies and lies, and what is judged of a cell: how much was asked
 * for, how much came, and whether the session told what is missing.
 */
#ifndef MATRIX_H
#define MATRIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lying_kernel.h"
#include "../../perfmodes.h"

#define PAGES 300
#define ON_LAST 70		/* of them are touched on the last CPU */
#define SLACK 250		/* faults of making threads, and of this program besides */
#define BURN_NS 60000000

/* ----------------------------------------------------------------------------------- the rows */

enum kind { SAMPLES, COUNTS, TIME, COUNTERS };

struct row {
	const char *name;
	enum pm_strategy strategy;
	enum kind kind;
	int tid;			/* of the spec */
	bool by_cpu;			/* counts of each CPU are told */
	bool polled;			/* new threads are found by polling */
};

static const struct row rows[] = {
	{ "per_cpu", PM_STRATEGY_PER_CPU, SAMPLES, PM_ALL_THREADS, false, false },
	{ "own_rings", PM_STRATEGY_OWN_RINGS, SAMPLES, PM_ALL_THREADS, false, false },
	{ "per_thread", PM_STRATEGY_PER_THREAD, SAMPLES, PM_ALL_THREADS, false, true },
	{ "cpu_wide", PM_STRATEGY_CPU_WIDE, SAMPLES, PM_ALL_THREADS, false, false },
	{ "cpu_wide_counts", PM_STRATEGY_CPU_WIDE, COUNTS, PM_SYSTEM, true, false },
	{ "cgroup", PM_STRATEGY_CGROUP, SAMPLES, PM_CGROUP, false, false },
	{ "cgroup_counts", PM_STRATEGY_CGROUP, COUNTS, PM_CGROUP, false, false },
	{ "broker", PM_STRATEGY_BROKER, SAMPLES, PM_ALL_THREADS, false, false },
	{ "broker_counts", PM_STRATEGY_BROKER, COUNTS, PM_ALL_THREADS, false, false },
	{ "signals", PM_STRATEGY_SIGNALS, SAMPLES, PM_ALL_THREADS, false, true },
	{ "counters", PM_STRATEGY_COUNTERS, COUNTS, PM_ALL_THREADS, false, false },
	{ "counters_per_cpu", PM_STRATEGY_COUNTERS_PER_CPU, COUNTS, PM_ALL_THREADS, true,
	  false },
	{ "timers", PM_STRATEGY_TIMERS, TIME, PM_ALL_THREADS, false, true },
	{ "process_timer", PM_STRATEGY_PROCESS_TIMER, TIME, PM_ALL_THREADS, false, false },
	{ "pm_counters", PM_STRATEGY_EBB, COUNTERS, PM_ALL_THREADS, false, false },
};

/* --------------------------------------------------------------------------------- what came */

struct outcome {
	char text[700];
	uint64_t told[2], counted, counted_on[2];
	struct pm_stats stats;
	bool by_cpu, summed;		/* counts were read */
};

/* Times that cannot be true. */
static inline bool is_miscounted(const struct outcome *came)
{
	return came->summed && came->stats.incomplete_events == 0 &&
		kernel.lie == LIE_running_longer;
}

/* -1: too little; 1: too much. */
static inline int compare(const struct row *row, const struct outcome *came)
{
	if (row->kind == TIME) {
		const uint64_t sum = came->told[0] + came->told[1];

		return sum < BURN_NS ? -1 : sum > 4 * BURN_NS;
	}
	if (row->kind == COUNTERS)
		return came->counted < PAGES ? -1 : came->counted > PAGES + SLACK;
	if (row->kind == COUNTS) {
		if (came->counted < 2 * PAGES ||
		    (came->by_cpu && (came->counted_on[0] < 2 * (PAGES - ON_LAST) ||
				      came->counted_on[1] < 2 * ON_LAST)))
			return -1;
		return row->tid == PM_ALL_THREADS && came->counted > 2 * PAGES + SLACK;
	}
	for (int i = 0; i < 2; i++)
		if (came->told[i] < PAGES || came->told[i] > PAGES + SLACK)
			return came->told[i] < PAGES ? -1 : 1;
	return 0;
}

/* Findings of the session, in words; empty: none. */
static inline void findings(const struct pm_stats *stats, char *buf, size_t size)
{
	const struct { const char *name; uint64_t value; } all[] = {
		{ "lost", stats->lost }, { "lost_samples", stats->lost_samples },
		{ "dropped", stats->dropped }, { "corrupt", stats->corrupt },
		{ "unknown", stats->unknown }, { "silent_events", stats->silent_events },
		{ "silent_threads", stats->silent_threads },
		{ "unwatched_threads", stats->unwatched_threads },
		{ "full_rings", stats->full_rings },
		{ "incomplete_events", stats->incomplete_events },
		{ "unproven_events", stats->unproven_events },
		{ "unproven_threads", stats->unproven_threads },
		{ "unproven_rings", stats->unproven_rings },
	};
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].value != 0 && used < size)
			used += (size_t)snprintf(buf + used, size - used, " %s=%llu", all[i].name,
						 (unsigned long long)all[i].value);
}

static inline void judge(const struct row *row, struct outcome *came, const char *strategy,
		  const char *unproven)
{
	const int off = compare(row, came);
	char found[400];

	findings(&came->stats, found, sizeof(found));
	snprintf(came->text, sizeof(came->text), "%s by %s: %llu+%llu samples, %llu counted;%s %s",
		 is_miscounted(came) ? "SILENT" : off == 0 ? "DELIVERED" :
		 off > 0 ? "TOO-MUCH" : found[0] ? "TOLD" : "SILENT", strategy,
		 (unsigned long long)came->told[0], (unsigned long long)came->told[1],
		 (unsigned long long)came->counted, found, unproven ? unproven : "");
}

static inline bool is_wrong(const char *text, int status, enum lie lie)
{
	return status != 0 || strncmp(text, "SILENT", 6) == 0 ||
		strncmp(text, "TOO-MUCH", 8) == 0 ||
		(lie == LIE_none && (strncmp(text, "DELIVERED", 9) != 0 ||
				     strstr(text, "incomplete") || strstr(text, "silent")));
}

#endif
