/* SPDX-License-Identifier: MIT */
/*
 * The table of strategies. The first row is taken whose needs hold and which fits, one that facts
 * of another build speak against only after all others; nothing else decides. A need is the key of
 * a point in the catalogue of probes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../session/attach.h"
#include "../diagnosis/diag.h"
#include "plan.h"
#include "../profile/profile.h"

/* --------------------------------------------------------------------------------------- fits */

#define NO(reason, size, error, ...) (snprintf(reason, size, __VA_ARGS__), -(error))

static bool is_sampled(const struct plan_event *event)
{
	return event->spec.period != 0 || event->spec.frequency != 0;
}

static int suits_target(const struct plan_event *event, size_t i, unsigned int able, char *reason,
			size_t size)
{
	if (event->spec.tid == PM_SYSTEM && !(able & FOR_SYSTEM))
		return NO(reason, size, EINVAL, "event %zu is to observe the whole machine", i);
	if (event->spec.tid == PM_CGROUP && !(able & FOR_CGROUP))
		return NO(reason, size, EINVAL, "event %zu is to observe a cgroup", i);
	if (event->spec.tid > PM_SYSTEM && !(able & FOR_SELF))
		return NO(reason, size, EINVAL, "event %zu is to observe threads", i);
	return 0;
}

/* What is wished for against what the strategy is able to do. */
static int suits(const struct pm_plan *plan, unsigned int able, char *reason, size_t size)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];
		int err = suits_target(event, i, able, reason, size);

		if (err < 0)
			return err;
		/* What shares rings with samples has to give some itself. */
		if (!is_sampled(event) &&
		    (!(able & CAN_COUNT) || (plan->samples && (able & CAN_SAMPLE))))
			return NO(reason, size, EINVAL, "event %zu is to be counted and not "
				  "sampled", i);
		if ((event->spec.want & PM_WANT_CPU) && !is_sampled(event) && !(able & BY_CPU))
			return NO(reason, size, EINVAL, "event %zu is to be told apart by CPU", i);
	}
	if (plan->cpus[0] != '\0' && !(able & BY_CPU))
		return NO(reason, size, EINVAL, "it cannot be limited to cpus %.100s", plan->cpus);
	if (plan->samples && !(able & CAN_SAMPLE) && !(plan->opts.allow & PM_ALLOW_COUNT))
		return NO(reason, size, EINVAL, "samples were asked for, and counts are not "
			  "allowed");
	return 0;
}

/* All events open, as the trial found. The errno is the kernel's, whatever it is for us. */
static int opens(struct pm_plan *plan, int row, char *reason, size_t size)
{
	if (plan->refusal.error != 0) {
		plan->cause[row] = plan->refusal.cause;
		return NO(reason, size, plan->refusal.error, "%s", plan->refusal.text);
	}
	for (size_t i = 0; i < plan->count && (pm_strategies[row].able & INHERITS); i++) {
		int err = plan->events[i].inherit_error;

		if (err == 0)
			continue;
		plan->cause[row] = PM_CAUSE_UNSUPPORTED;
		return NO(reason, size, -err, "event %zu opens, but not with attr.inherit (%s)", i,
			  pm_errno_name(-err));
	}
	return 0;
}

static int limits(const struct pm_plan *plan, int row, char *reason, size_t size)
{
	struct pm_cost cost = { .threads = plan->now.threads, .cpus = plan->now.cpus };
	char text[160];

	if (!(pm_strategies[row].able & USES_RINGS) || !plan->samples)
		return 0;
	pm_strategies[row].cost(plan, &cost);
	if (pm_limit_pages(plan, cost.rings) > 0)
		return 0;
	pm_limit_locked_text(text, sizeof(text));
	return NO(reason, size, ENOMEM, "%llu rings of two pages are more than may be locked: %s",
		  (unsigned long long)cost.rings, text);
}

static int taxes(const struct pm_plan *plan, int row, char *reason, size_t size)
{
	uint64_t tax = 0;

	if (pm_tax_of(plan, row, &tax) < 0 || tax <= plan->opts.thread_tax)
		return 0;
	return NO(reason, size, EINVAL, "making a thread takes %llu ns longer, and no more than "
		  "%llu are allowed", (unsigned long long)tax,
		  (unsigned long long)plan->opts.thread_tax);
}

/* Whoever may watch itself may not watch a CPU: that takes a trial of its own. */
static int fits_cpu_wide(struct pm_plan *plan, char *reason, size_t size)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_cpus cpus;
	int err = pm_cpus_list(plan, &cpus), cpu = err == 0 ? cpus.list[0] : 0;

	free(cpus.list);
	for (size_t i = 0; err == 0 && i < plan->count; i++) {
		struct perf_event_attr attr = plan->events[i].attr;
		struct pm_event_spec spec = plan->events[i].spec;
		int fd;

		if (spec.tid != PM_SYSTEM && !is_sampled(&plan->events[i]))
			return NO(reason, size, EINVAL, "what it counts of event %zu would be of "
				  "all processes", i);
		fd = pm_plan_open(plan, &plan->events[i], &attr, -1, cpu);
		if (fd >= 0) {
			close(fd);
			continue;
		}
		spec.tid = PM_SYSTEM;
		plan->cause[PM_STRATEGY_CPU_WIDE] = pm_diag_open(&diag, &spec, cpu, fd);
		return NO(reason, size, -fd, "%s", diag.text);
	}
	return err < 0 ? NO(reason, size, -err, "no CPU of %.100s is online", plan->cpus) : 0;
}

static int fits_broker(struct pm_plan *plan, char *reason, size_t size)
{
	if (plan->opts.broker == 0)
		return NO(reason, size, EINVAL, "there is no broker");
	if (plan->refusal.error == 0)
		return NO(reason, size, EINVAL, "the events open without it");
	if (!plan->brokered)
		return NO(reason, size, EACCES, "%s", plan->broker_says[0] ? plan->broker_says :
			  "it serves this process's threads only, and no filters");
	return 0;
}

static int fits_signals(struct pm_plan *plan, char *reason, size_t size)
{
	if (!(plan->opts.allow & PM_ALLOW_SIGNALS))
		return NO(reason, size, EINVAL, "signals are not allowed");
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.want &
		    (PM_WANT_ADDRESS | PM_WANT_CALLCHAIN | PM_WANT_RAW))
			return NO(reason, size, EINVAL, "a signal tells no address, call chain "
				  "or raw data of event %zu", i);
	return 0;
}

static int fits_timers(struct pm_plan *plan, char *reason, size_t size)
{
	if (!(plan->opts.allow & PM_ALLOW_TIMERS))
		return NO(reason, size, EINVAL, "timers are not allowed");
	if (plan->count != 1 || !pm_is_time(&plan->events[0].spec) || !plan->samples ||
	    (plan->events[0].spec.flags & PM_SPEC_EXACT))
		return NO(reason, size, EINVAL, "a timer stands in for one sampled clock or "
			  "cycles only");
	return 0;
}

static int fits_process_timer(struct pm_plan *plan, char *reason, size_t size)
{
	if (plan->events[0].spec.tid != PM_ALL_THREADS)
		return NO(reason, size, EINVAL, "it is of all threads together");
	return fits_timers(plan, reason, size);
}

/* -------------------------------------------------------------------------------------- table */

#define PER_CPU_NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("attach.self.one_cpu", false) \
	X("inherit.ring.thread", false) \
	X("output.same_cpu.other_thread", false) \
	X("strategy.per_cpu.every_sample_once", false) \
	X("strategy.per_cpu.old_and_new_threads", false)
PM_NEEDS(per_cpu, PER_CPU_NEEDS);

#define OWN_RINGS_NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("attach.self.one_cpu", false) \
	X("inherit.ring.thread", false) \
	X("inherit.after_close.mapped.self", false) \
	X("inherit.after_close.mapped.living", false) \
	X("inherit.after_close.mapped.new_with_living", false) \
	X("inherit.after_close.mapped.new_alone", false) \
	X("ring.closed_fd.event_lives_on", false) \
	X("ring.last_unmap.munmap_ends_it", false)
PM_NEEDS(own_rings, OWN_RINGS_NEEDS);

#define PER_THREAD_NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("output.chain.one_link", false)
PM_NEEDS(per_thread, PER_THREAD_NEEDS);

#define CPU_WIDE_NEEDS(X) \
	X("attach.cpu_wide.sees_other_tasks", false) \
	X("attach.cpu_wide.sees_opener", false) \
	X("output.same_cpu.cpu_wide", false) \
	X("strategy.cpu_wide_filter.cpu_wide_filter", false)
PM_NEEDS(cpu_wide, CPU_WIDE_NEEDS);

#define CGROUP_NEEDS(X) \
	X("attach.cgroup.counts", false) \
	X("attach.cgroup_scope.member", false) \
	X("attach.cgroup_scope.below", false) \
	X("output.same_cpu.cpu_wide", false)
PM_NEEDS(cgroup, CGROUP_NEEDS);

#define BROKER_NEEDS(X) \
	X("attach.descriptor_sent.counts", false)
PM_NEEDS(broker, BROKER_NEEDS);

#define SIGNALS_NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("signal.delivery.without_ring.each_sample", false) \
	X("signal.delivery.without_ring.tells_descriptor", false) \
	X("signal.delivery.without_ring.none_after_disable", false) \
	X("signal.recipient.owner_is_a_thread", false)
PM_NEEDS(signals, SIGNALS_NEEDS);

#define COUNTERS_NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("inherit.follow.thread.counts_alive", false) \
	X("inherit.follow.thread.counts_after_exit", false) \
	X("strategy.any_cpu.inherit_any_cpu_count", false)
PM_NEEDS(counters, COUNTERS_NEEDS);

#define COUNTERS_PER_CPU_NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("attach.self.one_cpu", false) \
	X("attach.self.back_on_cpu", false) \
	X("inherit.follow.thread.counts_alive", false) \
	X("inherit.follow.thread.counts_after_exit", false)
PM_NEEDS(counters_per_cpu, COUNTERS_PER_CPU_NEEDS);

static const struct need needs_nothing[] = { { NULL, false } };

#define WITH_PERF (FOR_SELF | USES_PERF)

const struct strategy pm_strategies[PM_STRATEGIES] = {
	[PM_STRATEGY_PER_CPU] = {
		"per_cpu", "inheriting events on each CPU, forwarded to one ring a CPU",
		WITH_PERF | CAN_SAMPLE | BY_CPU | INHERITS | USES_RINGS | GIVES_SUMS,
		needs_per_cpu, "strategy.per_cpu.every_sample_once", NULL,
		pm_cost_per_cpu, pm_attach_per_core,
	},
	[PM_STRATEGY_OWN_RINGS] = {
		"own_rings", "inheriting events on each CPU, each with its own ring, descriptors "
		"closed, read by time",
		WITH_PERF | CAN_SAMPLE | BY_CPU | INHERITS | USES_RINGS,
		needs_own_rings, "ring.closed_fd.event_lives_on", NULL,
		pm_cost_own_rings, pm_attach_own_rings,
	},
	[PM_STRATEGY_PER_THREAD] = {
		"per_thread", "one ring a thread, new threads attached as they are noticed",
		WITH_PERF | CAN_SAMPLE | USES_RINGS | GIVES_SUMS,
		needs_per_thread, "output.chain.one_link", NULL,
		pm_cost_per_thread, pm_attach_per_thread,
	},
	[PM_STRATEGY_CPU_WIDE] = {
		"cpu_wide", "everything on each CPU, what was not asked for dropped",
		WITH_PERF | FOR_SYSTEM | CAN_SAMPLE | CAN_COUNT | BY_CPU | USES_RINGS | GIVES_SUMS,
		needs_cpu_wide, "attach.cpu_wide.sees_opener", fits_cpu_wide,
		pm_cost_cpu_wide, pm_attach_cpu_wide,
	},
	[PM_STRATEGY_CGROUP] = {
		"cgroup", "everything of a cgroup on each CPU",
		USES_PERF | FOR_CGROUP | CAN_SAMPLE | CAN_COUNT | BY_CPU | USES_RINGS | GIVES_SUMS,
		needs_cgroup, "attach.cgroup.counts", NULL,
		pm_cost_cpu_wide, pm_attach_cgroup,
	},
	[PM_STRATEGY_BROKER] = {
		"broker", "events opened by a privileged process, per CPU or as counters",
		FOR_SELF | CAN_SAMPLE | CAN_COUNT | USES_RINGS | GIVES_SUMS,
		needs_broker, "attach.descriptor_sent.counts", fits_broker,
		pm_cost_broker, pm_attach_broker,
	},
	[PM_STRATEGY_SIGNALS] = {
		"signals", "a real-time signal for each sample, no rings",
		WITH_PERF | CAN_SAMPLE | GIVES_SUMS,
		needs_signals, "signal.delivery.without_ring.each_sample", fits_signals,
		pm_cost_counters, pm_attach_signals,
	},
	[PM_STRATEGY_COUNTERS] = {
		"counters", "inheriting counters, read(2)",
		WITH_PERF | CAN_COUNT | INHERITS | GIVES_SUMS,
		needs_counters, "strategy.any_cpu.inherit_any_cpu_count", NULL,
		pm_cost_counters, pm_attach_count,
	},
	[PM_STRATEGY_COUNTERS_PER_CPU] = {
		"counters_per_cpu", "inheriting counters of each thread on each CPU, read(2)",
		WITH_PERF | CAN_COUNT | BY_CPU | INHERITS | GIVES_SUMS,
		needs_counters_per_cpu, "attach.self.one_cpu", NULL,
		pm_cost_counters_per_cpu, pm_attach_count_per_cpu,
	},
	[PM_STRATEGY_TIMERS] = {
		"timers", "POSIX CPU-time timers, one a thread, without perf",
		FOR_SELF | CAN_SAMPLE, needs_nothing, NULL, fits_timers,
		pm_cost_none, pm_attach_timers,
	},
	[PM_STRATEGY_PROCESS_TIMER] = {
		"process_timer", "ITIMER_PROF, one for the process, without perf",
		FOR_SELF | CAN_SAMPLE, needs_nothing, NULL, fits_process_timer,
		pm_cost_none, pm_attach_process_timer,
	},
};

const char *pm_strategy_name(enum pm_strategy strategy)
{
	return (unsigned int)strategy < PM_STRATEGIES ? pm_strategies[strategy].name : NULL;
}

bool pm_plan_sums(const struct pm_plan *plan)
{
	/* A CPU's counter holds what everybody did there. */
	for (size_t i = 0; plan->chosen == PM_STRATEGY_CPU_WIDE && i < plan->count; i++)
		if (plan->events[i].spec.tid != PM_SYSTEM)
			return false;
	return pm_strategies[plan->chosen].able & GIVES_SUMS;
}

/* -------------------------------------------------------------------------------------- weigh */

static enum pm_cause cause_of(const struct pm_plan *plan, int err)
{
	switch (err) {
	case -EINVAL:	return PM_CAUSE_INPUT;
	case -EMFILE:	return PM_CAUSE_DESCRIPTORS;
	case -ENOMEM:	return PM_CAUSE_LOCKED_MEMORY;
	default:	return plan->refusal.error ? plan->refusal.cause : PM_CAUSE_UNSUPPORTED;
	}
}

static int check(struct pm_plan *plan, int row, char *reason, size_t size)
{
	const struct strategy *strategy = &pm_strategies[row];
	int err = suits(plan, strategy->able, reason, size);

	/* The refusal of the very event says more than a fact about events in general. */
	if (err == 0 && (strategy->able & USES_PERF))
		err = opens(plan, row, reason, size);
	if (err == 0 && strategy->fits != NULL)
		err = strategy->fits(plan, reason, size);
	if (err == 0)
		err = pm_limit_descriptors(plan, row, reason, size);
	if (err == 0)
		err = limits(plan, row, reason, size);
	if (err == 0 && plan->opts.thread_tax != 0)
		err = taxes(plan, row, reason, size);
	return err;
}

/*
 * Facts of this build decide. What was seen on another one raises a doubt, because stable kernels
 * are mended within a series; only a hazard counts wherever it was met. What was blocked once the
 * trial has found out for whoever asks now.
 */
static int holds(struct pm_plan *plan, int row, const struct need *need)
{
	struct pm_fact fact = { .verdict = PM_UNKNOWN };

	(void)pm_profile_lookup(plan->profile, need->key, &fact);
	if (fact.verdict == PM_YES)
		return 0;
	if (!need->certain && (fact.verdict == PM_UNKNOWN || fact.verdict == PM_BLOCKED))
		return 0;
	pm_fact_text(need->key, &fact, plan->reason[row], REASON_SIZE);
	if (need->certain || fact.verdict == PM_HAZARD || !pm_fact_is_elsewhere(&fact))
		return -ENOTSUP;
	plan->doubted[row] = true;
	return 0;
}

int pm_plan_weigh(struct pm_plan *plan, int row)
{
	char *reason = plan->reason[row];
	int err;

	plan->doubted[row] = false;
	if (plan->opts.forbid & 1u << row) {
		plan->cause[row] = PM_CAUSE_INPUT;
		return NO(reason, REASON_SIZE, EINVAL, "forbidden by the caller");
	}
	plan->cause[row] = PM_CAUSE_NONE;
	err = check(plan, row, reason, REASON_SIZE);
	if (err < 0 && plan->cause[row] == PM_CAUSE_NONE)
		plan->cause[row] = cause_of(plan, err);
	if (err < 0)
		return err;
	for (const struct need *need = pm_strategies[row].needs; need->key != NULL; need++) {
		err = holds(plan, row, need);
		if (err < 0) {
			plan->cause[row] = PM_CAUSE_UNSUPPORTED;
			return err;
		}
	}
	return 0;
}
