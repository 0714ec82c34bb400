/* SPDX-License-Identifier: MIT */
/*
 * Negotiating with the kernel: from a spec to a perf_event_attr that it takes. Every event is
 * opened once exactly as it will be, because kernels refuse combinations whose parts they accept.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "../diagnosis/words.h"
#include "../profile/facts.h"
#include "../profile/profile.h"
#include "attrs.h"
#include "cpus.h"
#include "group.h"
#include "hybrid.h"
#include "modify.h"
#include "negotiate.h"
#include "open.h"
#include "rate.h"
#include "task_clock.h"

static void let_go(struct plan_event *event)
{
	if (event->trial >= 0)
		close(event->trial);
	event->trial = -1;
}

void pm_plan_let_go(struct pm_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		let_go(&plan->events[i]);
	if (plan->kept >= 0)
		close(plan->kept);
	plan->kept = -1;
}

/*
 * The kernel patches its code where the first event of a software kind or of a tracepoint opens and
 * where the last one closes, so one stays open from trial to trial. Others may take a place that
 * the next trial needs.
 */
static void keep(struct plan_event *event, int fd)
{
	const uint32_t type = event->attr.type;

	let_go(event);
	event->trial = fd;
	if (type != PERF_TYPE_SOFTWARE && type != PERF_TYPE_TRACEPOINT)
		let_go(event);
}

/* The thread that is tried; a broker serves named threads only. */
static pid_t tid_of(const struct pm_plan *plan, const struct plan_event *event)
{
	if (event->spec.tid != PM_ALL_THREADS && event->spec.tid != 0)
		return event->spec.tid;
	return plan->via_broker ? pm_gettid() : plan->apart.tid;
}

/* In its group, with a leader that is opened for it alone, as it would be now. */
static int open_trial(const struct pm_plan *plan, const struct plan_event *event, bool inherit)
{
	const struct plan_event *leader = pm_group_led_by(plan, event);
	struct perf_event_attr attr = event->attr;
	const pid_t tid = tid_of(plan, event);
	int led_by = -1, fd;

	pm_plan_set_inherit(plan, &attr, inherit);
	if (leader != NULL) {
		struct plan_event first = *leader;

		pm_attr_build(plan, &first);
		pm_plan_set_inherit(plan, &first.attr, inherit);
		led_by = pm_plan_open(plan, leader, &first.attr, tid, event->cpu);
		if (led_by < 0)
			return led_by;
	}
	fd = pm_plan_open_led(plan, event, &attr, tid, event->cpu, led_by);
	if (led_by >= 0)
		close(led_by);
	return fd;
}

static int try_event(struct pm_plan *plan, struct plan_event *event, bool inherit)
{
	int fd;

	inherit |= plan->apart.inherits;
	pm_attr_build(plan, event);
	fd = open_trial(plan, event, inherit);
	if (fd == -EMFILE) {
		pm_plan_let_go(plan);
		fd = open_trial(plan, event, inherit);
	}
	if (fd < 0)
		return fd;
	/* To read another file could take for ever. */
	if (!pm_is_event(fd)) {
		close(fd);
		return -EPROTO;
	}
	keep(event, fd);
	return 0;
}

PM_FACT(user_only_is_zero, "strategy.user_only.software_zero");

/*
 * To count nothing is worse than a refusal. A profile may know that this very build counts
 * scheduler events in user mode; a fact that was blocked, or is of another build, does not tell.
 */
static bool user_only_is_silent(const struct pm_plan *plan, const struct pm_event_spec *spec)
{
	struct pm_fact fact = { .size = sizeof(fact) };

	if (!pm_happens_in_kernel(spec))
		return false;
	if (spec->type != PERF_TYPE_SOFTWARE ||
	    pm_profile_lookup(plan->profile, user_only_is_zero, &fact) < 0)
		return true;
	return pm_fact_is_elsewhere(&fact) ||
		(fact.verdict != PM_NO && fact.verdict != PM_BROKEN);
}

static bool may_go_user_only(const struct pm_plan *plan, const struct plan_event *event)
{
	return (plan->opts.allow & PM_ALLOW_USER_ONLY) && !event->user_only &&
		!(event->spec.flags & (PM_SPEC_USER_ONLY | PM_SPEC_EXACT | PM_SPEC_NO_USER)) &&
		!user_only_is_silent(plan, &event->spec);
}

static bool may_substitute(const struct pm_plan *plan, const struct plan_event *event)
{
	return (plan->opts.allow & PM_ALLOW_SUBSTITUTE) && !event->substituted && event->sampled &&
		!(event->spec.flags & PM_SPEC_EXACT) && pm_is_hardware(event->spec.type);
}

static void add_why(struct plan_event *event, const char *what, int error)
{
	pm_put_also(event->why, sizeof(event->why), "%s (%s)", what, pm_errno_name(error));
}

/* What else to try after `err`: true when something of the event or the plan was changed. */
static bool give_way(struct pm_plan *plan, struct plan_event *event, int err)
{
	/* From "no skid at all" to "any skid", as perf_event_open(2) numbers them. */
	if (event->precise > 0 && err != -EACCES && err != -EPERM) {
		event->precise--;
		return true;
	}
	switch (err) {
	case -EACCES: case -EPERM:
		if (!may_go_user_only(plan, event))
			return false;
		event->user_only = true;
		add_why(event, "user mode only: the kernel may not be watched", -err);
		return true;
	case -ENOENT: case -ENODEV: case -ENXIO: case -EOPNOTSUPP:
		if (!may_substitute(plan, event))
			return false;
		event->substituted = true;
		add_why(event, "cpu-clock instead: no such hardware event", -err);
		return true;
	default:
		return false;
	}
}

/* What it loses is told of the very event, too. */
static void look_at_clock(const struct pm_plan *plan, struct plan_event *event)
{
	char fact[160];

	if (!pm_needs_task_clock(plan->profile, &event->spec))
		return;
	pm_task_clock_why(plan->profile, fact, sizeof(fact));
	snprintf(event->why, sizeof(event->why), "%s (%s)",
		 pm_takes_task_clock(plan, &event->spec) ?
		 "task-clock instead: cpu-clock loses counts here" :
		 "it loses what it counted when its thread is switched out", fact);
}

/* A tracepoint opens by its number; only tracefs tells which event has that number. */
static void look_for_tracefs(struct plan_event *event)
{
	char root[256];
	int err = pm_tracefs_root(root, sizeof(root));

	if (err < 0)
		add_why(event, "tracefs is not readable here, which alone could tell what it is",
			-err);
}

/*
 * Before v5.13 processes inherit whatever threads do (2b26f0aa0049, attr.inherit_thread), and a
 * broker may not know the flag. Where it is not to blame nothing is changed.
 */
static int try_inherited(struct pm_plan *plan, struct plan_event *event)
{
	int err = try_event(plan, event, true);

	if (err != -EINVAL && err != -E2BIG && (err != -EPERM || !plan->via_broker))
		return err;
	if (plan->threads_refused < 0)
		return err;
	plan->threads_refused = err;
	err = try_event(plan, event, true);
	if (err < 0)
		plan->threads_refused = 0;
	return err;
}

/* From the beginning, on the CPU that is set. */
static int settle(struct pm_plan *plan, struct plan_event *event)
{
	int err;

	event->user_only = event->substituted = false;
	event->frequency = event->spec.frequency;
	event->why[0] = '\0';
	event->precise = event->precise_most;
	event->modifiers = pm_attr_of_event(plan, event);
	look_at_clock(plan, event);
	do {
		err = try_event(plan, event, false);
		if (err == -EINVAL && pm_rate_less(&event->spec, &event->frequency, event->why,
						   sizeof(event->why)))
			err = try_event(plan, event, false);
		if (err < 0)
			err = pm_modify_less(plan, event, try_event);
	} while (err < 0 && give_way(plan, event, err));
	return err;
}

/* A PMU may be of some CPUs only; who leads an event has found one. */
static int settle_somewhere(struct pm_plan *plan, struct plan_event *event)
{
	const struct plan_event *leader = pm_group_led_by(plan, event);
	const struct pm_cpus *cpus = plan->apart.cpus;
	int first = 0;

	if (cpus != NULL && leader != NULL)
		event->cpu = leader->cpu;
	if (cpus == NULL || leader != NULL)
		return settle(plan, event);
	for (size_t i = 0; i < cpus->count; i++) {
		int err;

		event->cpu = cpus->list[i];
		err = settle(plan, event);
		if (err == 0 || !pm_open_is_of_event(err))
			return err;
		first = first ? first : err;
	}
	event->cpu = cpus->list[0];
	return first;
}

static void try_until_settled(struct pm_plan *plan, struct plan_event *event)
{
	const int err = settle_somewhere(plan, event);

	event->error = err;
	event->inherit_error = err;
	if (err < 0)
		return;
	pm_rate_say(&event->attr, &event->spec, event->why, sizeof(event->why));
	if (event->precise_most > 0)
		pm_put_also(event->why, sizeof(event->why), "precise_ip %u of %u", event->precise,
			    event->precise_most);
	if (event->spec.type == PERF_TYPE_TRACEPOINT)
		look_for_tracefs(event);
	if (event->spec.tid == PM_ALL_THREADS && plan->apart.cpus == NULL)
		event->inherit_error = try_inherited(plan, event);
}

static void refuse(const struct pm_plan *plan, const struct plan_event *event,
		   struct pm_diag *refusal)
{
	struct pm_event_spec spec = event->spec;

	if (spec.tid == PM_ALL_THREADS && plan->apart.tid != 0)
		spec.tid = plan->apart.tid;
	spec.name = event->name;
	(void)pm_diag_open(refusal, &spec, event->cpu, event->error);
}

static void try_all(struct pm_plan *plan, struct pm_diag *refusal)
{
	refusal->error = 0;
	plan->threads_refused = 0;
	for (size_t i = 0; i < plan->count; i++) {
		struct plan_event *event = &plan->events[i];

		try_until_settled(plan, event);
		if (event->error == 0)
			continue;
		if (refusal->error == 0)
			refuse(plan, event, refusal);
		snprintf(event->why, sizeof(event->why), "refused (%s)",
			 pm_errno_name(-event->error));
	}
}

static bool is_for_broker(const struct pm_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.tid < PM_ALL_THREADS || plan->events[i].spec.filter)
			return false;
	return plan->opts.broker >= 0;
}

/* A broker may be able to open what is refused to this process. */
static void try_broker(struct pm_plan *plan)
{
	struct pm_diag refusal = { .size = sizeof(refusal) };

	plan->brokered = false;
	plan->broker_says[0] = '\0';
	if (plan->refusal.error == 0 || !is_for_broker(plan))
		return;
	plan->via_broker = true;
	try_all(plan, &refusal);
	plan->via_broker = false;
	plan->brokered = refusal.error == 0;
	if (plan->brokered)
		return;
	snprintf(plan->broker_says, sizeof(plan->broker_says), "the broker says %s",
		 pm_errno_name(refusal.error));
	try_all(plan, &plan->refusal);
}

/* Events of a CPU are tried on one of those that are to be observed. */
static void choose_cpus(struct pm_plan *plan)
{
	for (size_t i = 0; plan->apart.cpus == NULL && i < plan->count; i++)
		plan->events[i].cpu = plan->events[i].spec.tid < PM_ALL_THREADS ?
			pm_hybrid_first(plan, &plan->events[i]) : -1;
}

void pm_plan_negotiate(struct pm_plan *plan)
{
	choose_cpus(plan);
	plan->via_broker = false;
	try_all(plan, &plan->refusal);
	try_broker(plan);
	for (size_t i = 0; i < plan->count; i++) {
		pm_attr_build(plan, &plan->events[i]);
		plan->events[i].negotiated = plan->events[i].attr;
	}
}
