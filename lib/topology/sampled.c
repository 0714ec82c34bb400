/* SPDX-License-Identifier: MIT */
/*
 * One event a thread, whose samples tell where it is: each stands for a period of events on its
 * CPU. Of these only what came before a migration can have been elsewhere, and the kernel's
 * cpu-migrations event, where it may be observed, samples those. Records of different CPUs come in
 * any order, so a batch of them is sorted by time first.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topology.h"

#define BATCH 65536		/* samples that are sorted together */
#define THREADS_MAX 65536

struct seen {
	uint64_t time, period;
	uint32_t event, tid, cpu;
};

/* By event: whether the thread has migrated since its last sample. */
struct thread {
	uint32_t tid;
	uint32_t moved;
};

struct sampling {
	struct seen *batch;
	size_t count;
	void *threads;			/* of tsearch(3) */
	size_t thread_count;
	bool follows;			/* migrations are sampled, too */
	bool doubtful;			/* samples were lost: any thread may have migrated */
	int cpu;			/* of the newest sample; -1: there was none */
	uint64_t lost;			/* as the session told last */
	uint64_t attributed[EVENTS_MAX];	/* since start */
	uint64_t ahead[EVENTS_MAX];	/* of them without a sample yet */
	uint64_t counted[EVENTS_MAX];	/* since start, as read last */
};

static int by_time(const void *one, const void *other)
{
	uint64_t a = ((const struct seen *)one)->time, b = ((const struct seen *)other)->time;

	return (a > b) - (a < b);
}

static int by_tid(const void *one, const void *other)
{
	uint32_t a = ((const struct thread *)one)->tid, b = ((const struct thread *)other)->tid;

	return (a > b) - (a < b);
}

static void forget_threads(struct sampling *sampling)
{
	tdestroy(sampling->threads, free);
	sampling->threads = NULL;
	sampling->thread_count = 0;
}

/* NULL: there is no memory for one more. */
static struct thread *thread_of(struct sampling *sampling, uint32_t tid)
{
	struct thread key = { tid, 0 }, *thread;
	void *found = tfind(&key, &sampling->threads, by_tid);

	if (found != NULL)
		return *(struct thread **)found;
	if (sampling->thread_count == THREADS_MAX) {
		forget_threads(sampling);
		sampling->doubtful = true;
	}
	thread = malloc(sizeof(*thread));
	if (thread == NULL)
		return NULL;
	*thread = key;
	if (tsearch(thread, &sampling->threads, by_tid) == NULL) {
		free(thread);
		return NULL;
	}
	sampling->thread_count++;
	return thread;
}

/*
 * What was attributed ahead of its sample is not attributed again; and never more than was counted,
 * for the periods of a frequency are estimates of the kernel.
 */
static int attribute(struct pm_topology *set, const struct seen *seen, bool certain)
{
	struct sampling *sampling = set->sampling;
	uint64_t *ahead = &sampling->ahead[seen->event];
	uint64_t fresh = seen->period > *ahead ? seen->period - *ahead : 0;
	uint64_t left = sampling->counted[seen->event] - sampling->attributed[seen->event];
	struct tally *tally = pm_topology_tally(set, (int)seen->cpu, seen->event);

	if (tally == NULL)
		return -ENOMEM;
	*ahead -= seen->period - fresh;
	if (fresh > left)
		fresh = left;
	sampling->attributed[seen->event] += fresh;
	tally->value += fresh;
	tally->uncertain += certain ? 0 : fresh;
	return 0;
}

static int take_sample(struct pm_topology *set, const struct seen *seen)
{
	struct sampling *sampling = set->sampling;
	struct thread *thread = thread_of(sampling, seen->tid);
	uint32_t bit = 1u << seen->event % 32;
	bool certain;

	if (thread == NULL)
		return -ENOMEM;
	sampling->cpu = (int)seen->cpu;
	if (seen->event == set->events) {
		thread->moved = UINT32_MAX;
		return 0;
	}
	certain = sampling->follows && !sampling->doubtful && !(thread->moved & bit);
	thread->moved &= ~bit;
	return attribute(set, seen, certain);
}

/* What there is to attribute is read behind the samples: none may be of what is not in it yet. */
static int take_batch(struct pm_topology *set)
{
	struct pm_value values[EVENTS_MAX + 1] = { { .size = sizeof(values[0]) } };
	struct sampling *sampling = set->sampling;
	int err = pm_session_read(set->session, values, set->events + 1);

	if (err < 0)
		return err;
	for (size_t i = 0; i < set->events; i++)
		sampling->counted[i] = values[i].value;
	err = 0;
	qsort(sampling->batch, sampling->count, sizeof(*sampling->batch), by_time);
	for (size_t i = 0; i < sampling->count && err == 0; i++)
		err = take_sample(set, &sampling->batch[i]);
	sampling->count = 0;
	return err;
}

static void on_sample(void *context, const struct pm_observed *sample)
{
	struct pm_topology *set = context;
	struct sampling *sampling = set->sampling;

	if (sampling->count == BATCH && take_batch(set) < 0)
		sampling->doubtful = true;
	sampling->batch[sampling->count++] = (struct seen){
		.time = sample->time, .period = sample->period, .event = (uint32_t)sample->event,
		.tid = sample->tid, .cpu = sample->cpu,
	};
}

/* ---------------------------------------------------------------------------------------- rests */

static bool has_moved(const struct pm_topology *set, size_t event)
{
	const int tid = set->specs[0].tid;
	const struct thread key = { (uint32_t)(tid > 0 ? tid : gettid()), 0 };
	void *found;

	if (tid < 0 || set->opts.frequency > 0 || !set->sampling->follows ||
	    set->sampling->doubtful)
		return true;
	found = tfind(&key, &set->sampling->threads, by_tid);
	return found != NULL && ((*(struct thread **)found)->moved & 1u << event);
}

/* What was counted since the last samples goes where the newest one was. */
static int take_rests(struct pm_topology *set)
{
	struct sampling *sampling = set->sampling;
	const int tid = set->specs[0].tid;
	int cpu = sampling->cpu >= 0 ? sampling->cpu : pm_where_cpu(tid > 0 ? tid : 0);

	for (size_t i = 0; i < set->events; i++) {
		struct tally *tally;
		uint64_t rest;

		if (sampling->counted[i] <= sampling->attributed[i])
			continue;
		tally = pm_topology_tally(set, cpu < 0 ? -1 : cpu, i);
		if (tally == NULL)
			return -ENOMEM;
		rest = sampling->counted[i] - sampling->attributed[i];
		sampling->attributed[i] += rest;
		sampling->ahead[i] += rest;
		tally->value += rest;
		tally->uncertain += has_moved(set, i) ? rest : 0;
	}
	return 0;
}

static bool lost_some(struct pm_topology *set)
{
	struct pm_stats stats = { .size = sizeof(stats) };
	uint64_t before = set->sampling->lost;

	(void)pm_session_stats(set->session, &stats);
	set->sampling->lost = stats.lost + stats.lost_samples + stats.dropped + stats.corrupt;
	return set->sampling->lost != before;
}

static int take(struct pm_topology *set)
{
	int err = pm_session_poll(set->session, 0);

	if (err < 0)
		return err;
	set->sampling->doubtful |= lost_some(set);
	err = take_batch(set);
	if (err == 0)
		err = take_rests(set);
	set->sampling->doubtful = false;
	return err;
}

static int start(struct pm_topology *set, struct pm_diag *diag)
{
	const struct pm_listener listener = { .size = sizeof(listener), .sample = on_sample };
	struct sampling *sampling = set->sampling;
	int err;

	pm_session_destroy(set->session);
	set->session = pm_session_create(set->plan, &listener, set);
	if (set->session == NULL)
		return -ENOMEM;
	forget_threads(sampling);
	sampling->cpu = -1;
	sampling->lost = 0;
	sampling->count = 0;
	memset(sampling->attributed, 0, sizeof(sampling->attributed));
	memset(sampling->ahead, 0, sizeof(sampling->ahead));
	memset(sampling->counted, 0, sizeof(sampling->counted));
	err = pm_session_attach(set->session, diag);
	return err < 0 ? err : 0;
}

static int stop(struct pm_topology *set)
{
	int err = pm_session_detach(set->session);

	set->sampling->count = 0;
	return err;
}

static void close_sampled(struct pm_topology *set)
{
	/* It may still deliver into the batch. */
	pm_session_destroy(set->session);
	set->session = NULL;
	forget_threads(set->sampling);
	free(set->sampling->batch);
	free(set->sampling);
}

static const struct source sampled = {
	.kind = PM_TOPOLOGY_SAMPLED, .start = start, .take = take, .stop = stop,
	.close = close_sampled,
};

/* Strategies with one event a thread are for this process alone. */
static bool is_foreign(pid_t tid)
{
	char path[64];

	if (tid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d", (int)tid);
	return access(path, F_OK) != 0;
}

/* With migrations beside, which nobody may see in user mode alone; else without. */
static int make_plan(struct pm_topology *set, struct pm_diag *diag)
{
	struct pm_session_opts opts = {
		.size = sizeof(opts), .allow = set->opts.allow,
	};

	/* An event on each CPU is what this is to save. */
	if (!is_foreign(set->specs[0].tid))
		opts.forbid = 1u << PM_STRATEGY_PER_CPU | 1u << PM_STRATEGY_OWN_RINGS;

	for (size_t i = 0; i < set->events; i++) {
		set->specs[i].period = set->opts.period;
		set->specs[i].frequency = set->opts.frequency;
	}
	set->specs[set->events] = (struct pm_event_spec){
		.size = sizeof(set->specs[0]), .type = PM_TYPE_SOFTWARE,
		.config = PM_SW_CPU_MIGRATIONS, .period = 1, .tid = set->specs[0].tid,
		.flags = PM_SPEC_EXACT,
	};
	if (set->events < EVENTS_MAX &&
	    pm_plan_make(set->specs, set->events + 1, &opts, NULL, diag, &set->plan) == 0) {
		set->sampling->follows = true;
		return 0;
	}
	return pm_plan_make(set->specs, set->events, &opts, NULL, diag, &set->plan);
}

int pm_sampled_open(struct pm_topology *set, struct pm_diag *diag)
{
	set->sampling = calloc(1, sizeof(*set->sampling));
	if (set->sampling == NULL)
		return -ENOMEM;
	set->source = &sampled;
	set->sampling->batch = calloc(BATCH, sizeof(*set->sampling->batch));
	if (set->sampling->batch == NULL)
		return -ENOMEM;
	return make_plan(set, diag);
}
