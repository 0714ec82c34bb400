/* SPDX-License-Identifier: MIT */
/*
 * The table of strategies. The first row is taken whose needs hold and which fits; nothing else
 * decides. A need is the key of a point in the catalogue of probes.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "plan.h"

/* ------------------------------------------------------------------------------------ budgets */

static size_t count_entries(const char *path)
{
	const struct dirent *entry;
	DIR *dir = opendir(path);
	size_t count = 0;

	if (dir == NULL)
		return 1;
	while ((entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

size_t pm_thread_count(void)
{
	return count_entries("/proc/self/task");
}

size_t pm_descriptors_open(void)
{
	return count_entries("/proc/self/fd");
}

static size_t cpu_count(void)
{
	int cpus = pm_cpus_online();

	if (cpus <= 0)
		cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	return cpus > 0 ? (size_t)cpus : 1;
}

static size_t ring_bytes(const struct pm_plan *plan)
{
	return (plan->opts.ring_pages + 1) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Threads that the events have in sum: all for one, one for another. */
static size_t targets(const struct pm_plan *plan, size_t threads)
{
	size_t sum = 0;

	for (size_t i = 0; i < plan->count; i++)
		sum += plan->events[i].spec.tid == PM_ALL_THREADS ? threads : 1;
	return sum;
}

static void cost_per_core(const struct pm_plan *plan, struct pm_cost *ret)
{
	ret->descriptors = targets(plan, ret->threads) * ret->cpus + 1;
	ret->rings = ret->cpus;
	ret->locked_bytes = ret->rings * ring_bytes(plan);
}

static void cost_per_thread(const struct pm_plan *plan, struct pm_cost *ret)
{
	ret->descriptors = targets(plan, ret->threads) + 1;
	ret->rings = ret->threads;
	ret->locked_bytes = ret->rings * ring_bytes(plan);
}

static void cost_count(const struct pm_plan *plan, struct pm_cost *ret)
{
	ret->descriptors = targets(plan, ret->threads) + 1;
}

static void cost_timers(const struct pm_plan *plan, struct pm_cost *ret)
{
	(void)plan;
	ret->descriptors = 1;
}

/* --------------------------------------------------------------------------------------- fits */

/* All events open, as the trial found. */
static int opens(const struct pm_plan *plan, char *reason, size_t size)
{
	if (plan->refusal.error == 0)
		return 0;
	snprintf(reason, size, "%s", plan->refusal.text);
	return -plan->refusal.error;
}

static int within_descriptors(const struct pm_plan *plan, int row, char *reason, size_t size)
{
	struct pm_cost cost = { .size = sizeof(cost) };
	uint64_t limit = pm_attach_limit(plan), open = pm_descriptors_open();

	cost.threads = pm_thread_count();
	cost.cpus = cpu_count();
	pm_strategies[row].cost(plan, &cost);
	if (open + cost.descriptors <= limit)
		return 0;
	snprintf(reason, size, "needs %llu descriptors beside %llu open ones; %u %% of "
		 "RLIMIT_NOFILE are %llu", (unsigned long long)cost.descriptors,
		 (unsigned long long)open, plan->opts.descriptors_percent,
		 (unsigned long long)limit);
	return -EMFILE;
}

static int samples_fit(const struct pm_plan *plan, int row, char *reason, size_t size)
{
	int err = opens(plan, reason, size);

	if (err < 0)
		return err;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.period == 0 && plan->events[i].spec.frequency == 0) {
			snprintf(reason, size, "event %zu is to be counted and not sampled", i);
			return -EINVAL;
		}
	return within_descriptors(plan, row, reason, size);
}

static int fits_per_core(const struct pm_plan *plan, char *reason, size_t size)
{
	return samples_fit(plan, PM_STRATEGY_PER_CORE, reason, size);
}

static int fits_per_thread(const struct pm_plan *plan, char *reason, size_t size)
{
	return samples_fit(plan, PM_STRATEGY_PER_THREAD, reason, size);
}

static int fits_count(const struct pm_plan *plan, char *reason, size_t size)
{
	int err = opens(plan, reason, size);

	if (err < 0)
		return err;
	if (plan->samples && !(plan->opts.allow & PM_ALLOW_COUNT)) {
		snprintf(reason, size, "samples were asked for, and counts are not allowed");
		return -EINVAL;
	}
	return within_descriptors(plan, PM_STRATEGY_COUNT, reason, size);
}

static int fits_timers(const struct pm_plan *plan, char *reason, size_t size)
{
	if (!(plan->opts.allow & PM_ALLOW_TIMERS)) {
		snprintf(reason, size, "timers are not allowed");
		return -EINVAL;
	}
	if (plan->count != 1 || !pm_is_time(&plan->events[0].spec) || !plan->samples ||
	    (plan->events[0].spec.flags & PM_SPEC_EXACT)) {
		snprintf(reason, size, "a timer stands in for one sampled clock or cycles only");
		return -EINVAL;
	}
	return 0;
}

/* -------------------------------------------------------------------------------------- table */

static const struct need needs_per_core[] = {
	{ "perm.available.opens", true },
	{ "attach.thread.thread_id_is_that_thread", false },
	{ "attach.self.one_cpu", false },
	{ "inherit.ring.thread", false },
	{ "output.same_cpu.other_thread", false },
	{ "strategy.per_core.every_sample_once", false },
	{ "strategy.per_core.old_and_new_threads", false },
	{ NULL, false },
};

static const struct need needs_per_thread[] = {
	{ "perm.available.opens", true },
	{ "attach.thread.thread_id_is_that_thread", false },
	{ "output.chain.one_link", false },
	{ NULL, false },
};

static const struct need needs_count[] = {
	{ "perm.available.opens", true },
	{ "attach.thread.thread_id_is_that_thread", false },
	{ "inherit.follow.thread.counts_alive", false },
	{ "inherit.follow.thread.counts_after_exit", false },
	{ "strategy.any_cpu.inherit_any_cpu_count", false },
	{ NULL, false },
};

static const struct need needs_timers[] = { { NULL, false } };

const struct strategy pm_strategies[PM_STRATEGIES] = {
	[PM_STRATEGY_PER_CORE] = {
		"per_core", "inheriting events on each CPU, forwarded to one ring a CPU",
		needs_per_core, fits_per_core, cost_per_core, pm_attach_per_core,
	},
	[PM_STRATEGY_PER_THREAD] = {
		"per_thread", "one ring a thread, new threads attached as they are noticed",
		needs_per_thread, fits_per_thread, cost_per_thread, pm_attach_per_thread,
	},
	[PM_STRATEGY_COUNT] = {
		"count", "inheriting counters, read(2)",
		needs_count, fits_count, cost_count, pm_attach_count,
	},
	[PM_STRATEGY_TIMERS] = {
		"timers", "POSIX CPU-time timers, one a thread, without perf",
		needs_timers, fits_timers, cost_timers, pm_attach_timers,
	},
};

const char *pm_strategy_name(enum pm_strategy strategy)
{
	return (unsigned int)strategy < PM_STRATEGIES ? pm_strategies[strategy].name : NULL;
}
