/* SPDX-License-Identifier: MIT */
/*
 * That counters count: page faults are caused, and of them it is known how many there were, at
 * least; a clock must go on. Nothing else can be caused at no cost. A filter that answers in place
 * of ioctl(2) starts nothing, and some virtual PMUs count nothing.
 */
#include "counter.h"

#include <errno.h>
#include <unistd.h>

#include "../spec/now.h"
#include "../spec/spec.h"

#define TICK_NS 20000000	/* longer than the tick of any kernel */
#define LOOKS 1000000		/* where the clock stands still */
#define TRIES 3			/* what else the thread does may come between once */
#define FAULTS 8		/* half of them may be left out */

static bool is_clock(const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_SOFTWARE && spec->config <= PERF_COUNT_SW_TASK_CLOCK;
}

/* A kernel whose clock goes by ticks shows that an event is enabled after one of them. */
static bool is_enabled(const struct counter *leader)
{
	uint64_t begin = 0, now = 0, words[3 + COUNTERS_MAX];
	int looks = 0;

	begin = pm_now();
	do {
		/* Alone: value, enabled, running. A group: members, enabled, running, values. */
		if (read(leader->fd, words, sizeof(words)) < (ssize_t)(3 * sizeof(*words)) ||
		    words[1] != 0)
			return true;
		now = pm_now();
	} while (++looks < LOOKS && now - begin < TICK_NS);
	return false;
}

enum answer { RIGHT, WRONG, NOT_KNOWN };

static enum answer try_event(struct pm_counters *counters, size_t index)
{
	const bool faults = pm_is_page_fault(&counters->specs[index]);
	const uint64_t least = faults ? FAULTS / 2 : 1;
	enum answer answer = WRONG;

	if (!faults && !is_clock(&counters->specs[index]))
		return NOT_KNOWN;
	for (int i = 0; i < TRIES && answer == WRONG; i++) {
		struct pm_value before = { .size = sizeof(before) }, after = before;

		if (pm_counters_read_one(counters, index, &before) < 0 ||
		    pm_cause_faults(FAULTS) == 0 ||
		    pm_counters_read_one(counters, index, &after) < 0)
			return NOT_KNOWN;
		answer = after.value - before.value >= least ? RIGHT : WRONG;
	}
	return answer;
}

/* The events of another thread stand still while it does; these must go on. */
int pm_counters_prove(struct pm_counters *counters)
{
	struct pm_counters_stats stats = counters->stats;

	if (!pm_counters_are_own(counters) || counters->owner != pm_counters_thread())
		return 0;
	for (size_t i = 0; i < counters->count; i++) {
		const enum answer answer = try_event(counters, i);

		if (answer == WRONG || (counters->counters[i].leader == i &&
					!is_enabled(&counters->counters[i])))
			return -EIO;
		stats.unproven -= answer == RIGHT && !counters->inherit;
	}
	counters->proven = true;
	/* This was our own work. */
	(void)pm_counters_reset(counters);
	counters->stats = stats;
	return 0;
}
