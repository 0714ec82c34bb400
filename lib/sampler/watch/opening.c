/* SPDX-License-Identifier: MIT */
/*
 * The ways, best first for many processes. By CPU: all of side-band, nothing missed, a privilege;
 * but each program of the machine is interrupted, its stack is copied, and its records take their
 * part of the rings. By thread: events that children inherit, each on one CPU, because inherited
 * copies on several CPUs must not write into one ring. There the ring is owned by an event of the
 * caller's own thread: wake-ups stop when the owner's thread ends, and those that are watched may
 * end. A few threads of processes that are named by their pids are watched by thread first.
 */
#include "opening.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../../policy/diagnosis/diag.h"
#include "../../policy/profile/deny.h"
#include "../../policy/strategy/order.h"
#include "cpus.h"
#include "negotiate.h"
#include "prove.h"
#include "rings.h"
#include "threads.h"

#define FEW_DESCRIPTORS 1024	/* for events of threads, before events on each CPU are taken */

/* ------------------------------------------------------------------------------ the ways: facts */

/* What the strategies for one's own process need of a kernel, the ways for others need as well. */
static bool is_denied(const struct pm_sampler *sampler, enum way way, char *why)
{
	static const enum pm_strategy same[WAYS] = {
		PM_STRATEGY_CGROUP, PM_STRATEGY_CPU_WIDE, PM_STRATEGY_PER_CPU,
	};
	const struct need *need = pm_strategy_of(same[way])->needs;

	for (; need->key != NULL; need++)
		if (strncmp(need->key, "perm.", 5) != 0 &&
		    pm_denies(sampler->plan->profile, need->key)) {
			snprintf(why, WHY_SIZE, "%s does not work here, says the profile",
				 need->key);
			return true;
		}
	return false;
}

/* The cgroup, when one is all that is included. */
static const char *only_cgroup(const struct targets *targets)
{
	const char *path = NULL;

	for (size_t i = 0; i < targets->count; i++) {
		const struct pm_target *target = &targets->list[i].target;

		if (target->exclude)
			continue;
		if (target->by != PM_BY_CGROUP || path != NULL)
			return NULL;
		path = target->text;
	}
	return path;
}

static int open_cgroup(struct pm_sampler *sampler, char *why)
{
	const char *path = only_cgroup(&sampler->processes.rules.targets);
	char name[CGROUP_SIZE + 40];

	if (path == NULL) {
		snprintf(why, WHY_SIZE, "other than one cgroup is asked for");
		return -EINVAL;
	}
	/* The hierarchy that has the controller of perf: one of its own, or the one of all. */
	for (size_t i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "/sys/fs/cgroup%s%s", i == 0 ? "/perf_event" : "",
			 path);
		sampler->cgroup = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (sampler->cgroup >= 0)
			return 0;
	}
	snprintf(why, WHY_SIZE, "%.300s: %s", name, pm_errno_name(errno));
	return -errno;
}

/* ------------------------------------------------------------------------------------- the ways */

static const char *const way_names[WAYS] = {
	"events of the cgroup on each CPU", "events on each CPU", "inherited events of each thread",
};

static bool is_allowed(const struct pm_sampler *sampler, enum way way)
{
	const unsigned int flags = sampler->opts.flags;

	return !(flags & (way == WAY_THREADS ? PM_SAMPLER_ONLY_CPUS : PM_SAMPLER_ONLY_THREADS));
}

/* `whole`: others follow, so that this one has to do all of what is asked for. */
static int try_way(struct pm_sampler *sampler, enum way way, bool whole, struct pm_diag *diag)
{
	char *why = sampler->reasons[way];
	int err = 0;

	sampler->way = way;
	if (!is_allowed(sampler, way)) {
		snprintf(why, WHY_SIZE, "not wanted");
		return -EINVAL;
	}
	if (is_denied(sampler, way, why))
		return -ENOTSUP;
	if (way == WAY_CGROUP)
		err = open_cgroup(sampler, why);
	if (err < 0)
		return err;
	if (way == WAY_THREADS)
		return pm_watch_open_threads(sampler, whole, diag);
	err = pm_watch_negotiate(sampler, 0, diag);
	if (err == 0)
		err = pm_watch_open_cpus(sampler, diag);
	return err < 0 ? err : pm_watch_prove_opened(sampler, diag);
}

/* Threads that are watched, where all that is included has a pid; 0: others are. */
static size_t named_threads(const struct pm_sampler *sampler)
{
	const struct processes *all = &sampler->processes;
	size_t count = 0;

	if (!pm_targets_are_pids(&all->rules.targets))
		return 0;
	for_each_process(at, all)
		count += at->told.watched && !at->told.kernel && !at->ending ?
			at->threads : 0;
	return count;
}

/* What only events on each CPU tell: of the kernel and of cgroups, and values of groups. */
static bool needs_cpus(const struct pm_sampler *sampler)
{
	for (size_t i = 0; i < sampler->count; i++)
		if (!pm_watch_leads(sampler, i))
			return true;
	return (sampler->opts.want & PM_WANT_GROUP) ||
		(sampler->opts.side & (PM_SIDE_KSYMBOL | PM_SIDE_CGROUP));
}

/* Whether few threads are watched, so that nobody else has to be interrupted for them. */
static bool prefers_threads(struct pm_sampler *sampler)
{
	const size_t threads = named_threads(sampler), cpus = sampler->on.count;
	const size_t descriptors = threads * cpus * (sampler->count + 1);

	if (threads == 0 || descriptors > FEW_DESCRIPTORS || needs_cpus(sampler) ||
	    !is_allowed(sampler, WAY_CPUS) || !is_allowed(sampler, WAY_THREADS))
		return false;
	for (enum way way = 0; way < WAY_THREADS; way++)
		snprintf(sampler->reasons[way], WHY_SIZE, "would interrupt every program for %zu "
			 "thread%s", threads, threads == 1 ? "" : "s");
	return true;
}

int pm_watch_open(struct pm_sampler *sampler, struct pm_diag *diag)
{
	static const enum way order[] = { WAY_THREADS, WAY_CGROUP, WAY_CPUS, WAY_THREADS };
	const size_t begin = prefers_threads(sampler) ? 0 : 1;
	struct pm_diag first = { .size = sizeof(first) };
	int err = -ENOTSUP, first_err = 0;

	for (size_t i = begin; i < sizeof(order) / sizeof(order[0]); i++) {
		struct pm_diag said = { .size = sizeof(said) };
		const enum way way = order[i];

		err = try_way(sampler, way, i == 0, &said);
		if (err >= 0)
			return 0;
		pm_watch_close_all(sampler);
		if (said.text[0] != '\0')
			snprintf(sampler->reasons[way], WHY_SIZE, "%s", said.text);
		else if (sampler->reasons[way][0] == '\0')
			snprintf(sampler->reasons[way], WHY_SIZE, "%s", pm_errno_name(-err));
		/* The last real refusal tells best what would help. */
		if (said.text[0] != '\0' || first_err == 0) {
			first = said;
			first_err = err;
		}
	}
	return pm_diag_say(diag, -first_err, first.cause, "no way to watch: %s%s%s",
			   first.text[0] ? first.text : sampler->reasons[WAY_THREADS],
			   sampler->broker.error ? "; the broker says " : "",
			   sampler->broker.error ? pm_watch_broker_says(sampler) : "");
}

const char *pm_watch_way_name(enum way way)
{
	return way_names[way];
}

/* -------------------------------------------------------------------------------------- follow */

void pm_watch_follow(struct pm_sampler *sampler)
{
	pm_watch_follow_cpus(sampler);
	if (sampler->way == WAY_THREADS)
		pm_watch_follow_threads(sampler);
}

void pm_watch_leave(struct pm_sampler *sampler, const struct process *process)
{
	const struct processes *all = &sampler->processes;

	if (process->root == 0)
		return;
	for_each_process(at, all)
		if (at != process && at->root == process->root)
			return;
	pm_watch_close_of(sampler, process->root, -1);
}
