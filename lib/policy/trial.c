/* SPDX-License-Identifier: MIT */
/*
 * From what was asked for to a perf_event_attr that this kernel takes: every event is opened once
 * exactly as it will be, because kernels refuse combinations whose parts they accept.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "diag.h"
#include "plan.h"

#define NS_PER_S 1000000000ull
#define CLOCK_PERIOD_LEAST 100000	/* ns: a clock that samples faster does nothing else */

bool pm_is_time(const struct pm_event_spec *spec)
{
	if (spec->type == PERF_TYPE_SOFTWARE)
		return spec->config == PERF_COUNT_SW_CPU_CLOCK ||
			spec->config == PERF_COUNT_SW_TASK_CLOCK;
	return spec->type == PERF_TYPE_HARDWARE && spec->config == PERF_COUNT_HW_CPU_CYCLES;
}

static bool is_hardware(const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_HARDWARE || spec->type == PERF_TYPE_HW_CACHE ||
		spec->type == PERF_TYPE_RAW;
}

/* Samples of all events of a session have one layout, because they share rings. */
static uint64_t sample_type(const struct pm_plan *plan)
{
	uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IP |
		PERF_SAMPLE_PERIOD;

	type |= plan->identifier ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID;
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->events[i].spec.want & PM_WANT_ADDRESS)
			type |= PERF_SAMPLE_ADDR;
		if (plan->events[i].spec.want & PM_WANT_CALLCHAIN)
			type |= PERF_SAMPLE_CALLCHAIN;
	}
	return type;
}

static void set_rate(struct perf_event_attr *attr, const struct pm_event_spec *spec)
{
	if (spec->frequency != 0) {
		attr->freq = 1;
		attr->sample_freq = spec->frequency;
	} else {
		attr->sample_period = spec->period;
	}
}

/* Cycles become ns, which is about right at a few GHz and never too fast. */
static void substitute(struct perf_event_attr *attr, const struct pm_event_spec *spec)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->config1 = attr->config2 = 0;
	if (spec->frequency == 0 && spec->period < CLOCK_PERIOD_LEAST)
		attr->sample_period = CLOCK_PERIOD_LEAST;
}

/* One event a thread tells of its name, birth and end; from each it would be told again. */
static bool is_first_of_target(const struct pm_plan *plan, const struct plan_event *event)
{
	for (const struct plan_event *other = plan->events; other < event; other++)
		if (other->spec.tid == event->spec.tid)
			return false;
	return true;
}

static void build(const struct pm_plan *plan, struct plan_event *event)
{
	const struct pm_event_spec *spec = &event->spec;
	struct perf_event_attr *attr = &event->attr;

	*attr = (struct perf_event_attr){
		.type = spec->type, .config = spec->config,
		.sample_type = sample_type(plan), .sample_id_all = 1, .disabled = 1,
		.exclude_callchain_kernel = !!(spec->want & PM_WANT_CALLCHAIN),
	};
	attr->comm = attr->task = is_first_of_target(plan, event);
	attr->config1 = spec->config1;
	attr->config2 = spec->config2;
	attr->exclude_kernel = attr->exclude_hv =
		event->user_only || (spec->flags & PM_SPEC_USER_ONLY);
	if (plan->clockid) {
		attr->use_clockid = 1;
		attr->clockid = CLOCK_MONOTONIC;
	}
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (plan->lost)
		attr->read_format |= PERF_FORMAT_LOST;
	set_rate(attr, spec);
	if (event->substituted)
		substitute(attr, spec);
}

static int try_event(const struct plan_event *event)
{
	const struct pm_event_spec *spec = &event->spec;
	int fd = pm_open(&event->attr, spec->tid == PM_ALL_THREADS ? 0 : spec->tid, -1, -1, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/*
 * Scheduler events happen in the kernel: with exclude_kernel they open and read 0 for ever, which
 * is worse than a refusal. A profile may know a kernel where it is otherwise.
 */
static bool user_only_is_silent(const struct pm_plan *plan, const struct pm_event_spec *spec)
{
	struct pm_fact fact;

	if (spec->type != PERF_TYPE_SOFTWARE ||
	    (spec->config != PERF_COUNT_SW_CONTEXT_SWITCHES &&
	     spec->config != PERF_COUNT_SW_CPU_MIGRATIONS))
		return false;
	return pm_profile_lookup(plan->profile, "strategy.user_only.software_zero", &fact) < 0 ||
		fact.verdict == PM_YES;
}

static bool may_go_user_only(const struct pm_plan *plan, const struct plan_event *event)
{
	return (plan->opts.allow & PM_ALLOW_USER_ONLY) && !event->user_only &&
		!(event->spec.flags & (PM_SPEC_USER_ONLY | PM_SPEC_EXACT)) &&
		!user_only_is_silent(plan, &event->spec);
}

static bool may_substitute(const struct pm_plan *plan, const struct plan_event *event)
{
	return (plan->opts.allow & PM_ALLOW_SUBSTITUTE) && !event->substituted &&
		!(event->spec.flags & PM_SPEC_EXACT) && is_hardware(&event->spec) &&
		(event->spec.period != 0 || event->spec.frequency != 0);
}

static void add_why(struct plan_event *event, const char *what, int error)
{
	size_t used = strlen(event->why);

	snprintf(event->why + used, sizeof(event->why) - used, "%s%s (%s)", used ? "; " : "",
		 what, pm_errno_name(error));
}

/* What else to try after `err`: true when something of the event or the plan was changed. */
static bool give_way(struct pm_plan *plan, struct plan_event *event, int err)
{
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
	case -EINVAL: case -E2BIG:
		/* Newest first, the inverse of how kernels learned them. */
		if (plan->lost)
			plan->lost = false;
		else if (plan->clockid)
			plan->clockid = false;
		else if (plan->identifier)
			plan->identifier = false;
		else
			return false;
		return true;
	default:
		return false;
	}
}

static void try_until_settled(struct pm_plan *plan, struct plan_event *event)
{
	int err;

	do {
		build(plan, event);
		err = try_event(event);
	} while (err < 0 && give_way(plan, event, err));
	event->error = err;
}

void pm_plan_trial(struct pm_plan *plan)
{
	bool lost = plan->lost, clockid = plan->clockid, identifier = plan->identifier;

	plan->refusal.error = 0;
	for (size_t i = 0; i < plan->count; i++) {
		struct plan_event *event = &plan->events[i];

		try_until_settled(plan, event);
		if (event->error == 0)
			continue;
		/* Not the modifiers' fault: they go on for the others. */
		plan->lost = lost;
		plan->clockid = clockid;
		plan->identifier = identifier;
		if (plan->refusal.error == 0)
			(void)pm_diag_open(&plan->refusal, &event->spec, -1, event->error);
		snprintf(event->why, sizeof(event->why), "refused (%s)",
			 pm_errno_name(-event->error));
	}
	for (size_t i = 0; i < plan->count; i++)
		build(plan, &plan->events[i]);
}
