/* SPDX-License-Identifier: MIT */
/* Whether a strategy serves a plan: by its abilities, the limits, and the facts it needs. */
#include "weigh.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "../profile/profile.h"
#include "group.h"
#include "limits.h"

static enum pm_cause cause_of(int error)
{
	switch (error) {
	case EINVAL:	return PM_CAUSE_INPUT;
	case EMFILE:	return PM_CAUSE_DESCRIPTORS;
	case ENOMEM:	return PM_CAUSE_LOCKED_MEMORY;
	default:	return PM_CAUSE_NONE;
	}
}

int pm_rule_out(struct candidate *candidate, int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(candidate->reason, REASON_SIZE, format, list);
	va_end(list);
	if (candidate->cause == PM_CAUSE_NONE)
		candidate->cause = cause_of(error);
	return -error;
}

static int suits_target(const struct plan_event *event, size_t i, struct candidate *candidate)
{
	const unsigned int able = candidate->strategy->able;

	candidate->unfit = true;
	if (event->spec.tid == PM_SYSTEM && !(able & FOR_SYSTEM))
		return pm_rule_out(candidate, EINVAL, "event %zu is to observe the whole machine",
				   i);
	if (event->spec.tid == PM_CGROUP && !(able & FOR_CGROUP))
		return pm_rule_out(candidate, EINVAL, "event %zu is to observe a cgroup", i);
	if (event->spec.tid > PM_SYSTEM && !(able & FOR_SELF))
		return pm_rule_out(candidate, EINVAL, "event %zu is to observe threads", i);
	candidate->unfit = false;
	return 0;
}

static int suits_event(const struct pm_plan *plan, size_t i, struct candidate *candidate)
{
	const struct plan_event *event = &plan->events[i];
	const unsigned int able = candidate->strategy->able;
	int err = suits_target(event, i, candidate);

	if (err < 0)
		return err;
	/* Samples tell whose they are. */
	if ((event->spec.flags & PM_SPEC_EXACT) && !(plan->samples && (able & CAN_SAMPLE)) &&
	    pm_plan_counts_children(plan, event, able)) {
		candidate->cause = PM_CAUSE_UNSUPPORTED;
		return pm_rule_out(candidate, EOPNOTSUPP, "event %zu would count child processes, "
				   "too: inheritance by threads alone is refused (%s)", i,
				   pm_errno_name(-plan->threads_refused));
	}
	if (event->sampled)
		return 0;
	/* Samples of others in its group tell what it counts. */
	if (plan->samples && pm_group_leader(plan, event) != NULL && (able & GIVES_GROUPS))
		return 0;
	/* What shares rings with samples has to give some itself. */
	if (!(able & CAN_COUNT) || (plan->samples && (able & CAN_SAMPLE)))
		return pm_rule_out(candidate, EINVAL, "event %zu is to be counted and not sampled",
				   i);
	if ((event->spec.want & PM_WANT_CPU) && !(able & BY_CPU))
		return pm_rule_out(candidate, EINVAL, "event %zu is to be told apart by CPU", i);
	return 0;
}

/* What is wished for against what the strategy is able to do. */
static int suits(const struct pm_plan *plan, struct candidate *candidate)
{
	const unsigned int able = candidate->strategy->able;
	int err = pm_group_suits(plan, candidate);

	for (size_t i = 0; err == 0 && i < plan->count; i++)
		err = suits_event(plan, i, candidate);
	if (err < 0)
		return err;
	if (plan->cpus[0] != '\0' && !(able & BY_CPU))
		return pm_rule_out(candidate, EINVAL, "it cannot be limited to cpus %.100s",
				   plan->cpus);
	if (plan->samples && !(able & CAN_SAMPLE) && !(plan->opts.allow & PM_ALLOW_COUNT))
		return pm_rule_out(candidate, EINVAL, "samples were asked for, and counts are not "
				   "allowed");
	return 0;
}

/* All events open, as the negotiation found. The errno is the kernel's, whatever it is for us. */
static int opens(const struct pm_plan *plan, struct candidate *candidate)
{
	if (plan->refusal.error != 0) {
		candidate->cause = plan->refusal.cause;
		return pm_rule_out(candidate, plan->refusal.error, "%s", plan->refusal.text);
	}
	for (size_t i = 0; i < plan->count && (candidate->strategy->able & INHERITS); i++) {
		int err = plan->events[i].inherit_error;

		if (err == 0)
			continue;
		candidate->cause = PM_CAUSE_UNSUPPORTED;
		return pm_rule_out(candidate, -err, "event %zu opens, but not with attr.inherit%s "
				   "(%s)", i, pm_plan_takes(plan, MODIFIER(GROUP)) ?
				   " and the values of its group in samples" : "",
				   pm_errno_name(-err));
	}
	return 0;
}

static int locks(const struct pm_plan *plan, struct candidate *candidate)
{
	struct pm_cost cost = { .threads = plan->now.threads, .cpus = plan->now.cpus };
	char text[160];

	if (!(candidate->strategy->able & USES_RINGS) || !plan->samples)
		return 0;
	candidate->strategy->cost(plan, &cost);
	if (pm_limit_pages(plan, cost.rings) > 0)
		return 0;
	pm_limit_locked_text(text, sizeof(text));
	return pm_rule_out(candidate, ENOMEM, "%llu rings of two pages are more than may be "
			   "locked: %s", (unsigned long long)cost.rings, text);
}

static int taxes(const struct pm_plan *plan, struct candidate *candidate)
{
	uint64_t tax = 0;

	if (plan->opts.thread_tax == 0 || pm_tax_of(plan, candidate->strategy, &tax) < 0 ||
	    tax <= plan->opts.thread_tax)
		return 0;
	return pm_rule_out(candidate, EINVAL, "making a thread takes %llu ns longer, and no more "
			   "than %llu are allowed", (unsigned long long)tax,
			   (unsigned long long)plan->opts.thread_tax);
}

static int check(const struct pm_plan *plan, struct candidate *candidate)
{
	const struct strategy *strategy = candidate->strategy;
	int err = suits(plan, candidate);

	/* The refusal of the very event says more than a fact about events in general. */
	if (err == 0 && (strategy->able & USES_PERF))
		err = opens(plan, candidate);
	if (err == 0 && strategy->fits != NULL)
		err = strategy->fits(plan, candidate);
	if (err == 0)
		err = pm_limit_descriptors(plan, candidate);
	if (err == 0)
		err = locks(plan, candidate);
	return err < 0 ? err : taxes(plan, candidate);
}

/*
 * Facts of this build decide. What was seen on another one raises a doubt, because stable kernels
 * are fixed within a series; only a hazard counts wherever it was met. Whether what was blocked
 * once is blocked now the negotiation has found out.
 */
static int holds(const struct pm_plan *plan, struct candidate *candidate, const struct need *need)
{
	struct pm_fact fact = { .size = sizeof(fact), .verdict = PM_UNKNOWN };

	(void)pm_profile_lookup(plan->profile, need->key, &fact);
	if (fact.verdict == PM_YES)
		return 0;
	if (!need->certain && (fact.verdict == PM_UNKNOWN || fact.verdict == PM_BLOCKED))
		return 0;
	pm_fact_text(need->key, &fact, candidate->reason, REASON_SIZE);
	if (need->certain || fact.verdict == PM_HAZARD || !pm_fact_is_elsewhere(&fact)) {
		candidate->cause = PM_CAUSE_UNSUPPORTED;
		return -ENOTSUP;
	}
	candidate->doubted = true;
	return 0;
}

const struct need pm_needs_nothing[] = { { NULL, false } };

int pm_weigh(const struct pm_plan *plan, struct candidate *candidate)
{
	int err;

	candidate->doubted = candidate->unfit = false;
	candidate->cause = PM_CAUSE_NONE;
	err = check(plan, candidate);
	if (err < 0 && candidate->cause == PM_CAUSE_NONE)
		candidate->cause = plan->refusal.error ? plan->refusal.cause :
			PM_CAUSE_UNSUPPORTED;
	for (const struct need *need = candidate->strategy->needs; err == 0 && need->key; need++)
		err = holds(plan, candidate, need);
	return err;
}
