/* SPDX-License-Identifier: MIT */
/*
 * That counters count: page faults are caused, and of them it is known how many there were, at
 * least; a clock must go on. Nothing else can be caused at no cost. A filter that answers in place
 * of ioctl(2) starts nothing, and some virtual PMUs count nothing.
 */
#include "counter.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "../engine/threads.h"
#include "../spec/now.h"
#include "../spec/spec.h"

#define TICK_NS 20000000	/* longer than the tick of any kernel */
#define LOOKS 1000000		/* where the clock stands still */
#define TRIES 3			/* what else the thread does may come between once */
#define FAULTS 8		/* half of them may be left out */
#define CHILD_FAULTS 32

static bool is_clock(const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_SOFTWARE && spec->config <= PERF_COUNT_SW_TASK_CLOCK;
}

/* ---------------------------------------------------------------------------------- page faults */

enum answer { RIGHT, WRONG, NOT_KNOWN };

static enum answer try_own(struct pm_counters *counters, size_t index)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;

	if (pm_counters_read_one(counters, index, &before) < 0 || pm_cause_faults(FAULTS) == 0 ||
	    pm_counters_read_one(counters, index, &after) < 0)
		return NOT_KNOWN;
	return after.value - before.value >= FAULTS / 2 ? RIGHT : WRONG;
}

/* ------------------------------------------------------------------------------------- children */

struct child {
	pid_t tid;
	bool done;
};

static void *run_child(void *context)
{
	struct child *child = context;

	child->tid = pm_gettid();
	child->done = pm_cause_faults(CHILD_FAULTS) > 0;
	return NULL;
}

static bool have_child(void)
{
	struct child child = { .done = false };
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_child, &child) != 0)
		return false;
	(void)pthread_join(thread, NULL);
	pm_threads_wait_gone(child.tid);
	return child.done;
}

/* Its faults are counted beside those that it takes to make it. */
static enum answer try_child(struct pm_counters *counters, size_t index)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;
	uint64_t own;

	if (pm_counters_read_one(counters, index, &before) < 0)
		return NOT_KNOWN;
	own = pm_threads_own_faults();
	if (!have_child())
		return NOT_KNOWN;
	own = pm_threads_own_faults() - own;
	if (pm_counters_read_one(counters, index, &after) < 0)
		return NOT_KNOWN;
	return after.value - before.value >= own + CHILD_FAULTS / 2 ? RIGHT : WRONG;
}

static enum answer try_often(struct pm_counters *counters, size_t index,
			     enum answer (*try)(struct pm_counters *counters, size_t index))
{
	enum answer answer = WRONG;

	for (int i = 0; i < TRIES && answer == WRONG; i++)
		answer = try(counters, index);
	return answer;
}

int pm_counters_prove_children(struct pm_counters *counters)
{
	const struct pm_counters_stats stats = counters->stats;
	enum answer answer = NOT_KNOWN;

	if (!counters->inherit || !pm_counters_are_own(counters))
		return 0;
	for (size_t i = 0; i < counters->count && answer == NOT_KNOWN; i++) {
		if (!pm_is_page_fault(&counters->specs[i]) ||
		    pm_counters_switch(counters, PERF_EVENT_IOC_ENABLE) < 0)
			continue;
		answer = try_often(counters, i, try_child);
		(void)pm_counters_switch(counters, PERF_EVENT_IOC_DISABLE);
		(void)pm_counters_reset(counters);
	}
	counters->stats = stats;
	counters->children_proven = answer == RIGHT;
	return answer == WRONG ? -EIO : 0;
}

/* ---------------------------------------------------------------------------------------- start */

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

static enum answer try_clock(struct pm_counters *counters, size_t index)
{
	struct pm_value before = { .size = sizeof(before) }, after = before;

	if (pm_counters_read_one(counters, index, &before) < 0 || pm_cause_faults(1) == 0 ||
	    pm_counters_read_one(counters, index, &after) < 0)
		return NOT_KNOWN;
	return after.value != before.value ? RIGHT : WRONG;
}

static enum answer try_event(struct pm_counters *counters, size_t index)
{
	if (pm_is_page_fault(&counters->specs[index]))
		return try_often(counters, index, try_own);
	if (is_clock(&counters->specs[index]))
		return try_often(counters, index, try_clock);
	return NOT_KNOWN;
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
		stats.unproven -= answer == RIGHT &&
			(!counters->inherit || (pm_is_page_fault(&counters->specs[i]) &&
						counters->children_proven));
	}
	counters->proven = true;
	/* This was our own work. */
	(void)pm_counters_reset(counters);
	counters->stats = stats;
	return 0;
}
