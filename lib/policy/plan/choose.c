/* SPDX-License-Identifier: MIT */
/*
 * The first candidate is taken whose needs hold and which fits, one that facts of another build
 * speak against only after all others. Nothing else decides.
 */
#include "choose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../diagnosis/diag.h"
#include "attrs.h"
#include "limits.h"
#include "weigh.h"

/*
 * A ring for each event of each thread on each CPU is as good as empty most of the time: all of
 * them together are held to 64 MiB, unless there are so many that each would be smaller than this.
 */
#define TOGETHER_BYTES (64ull << 20)
#define PAGES_LEAST 16

/*
 * Whose fault it is that nothing is left: a limit, if some strategy would have done but for it;
 * else what the first one met that was not ruled out by the wish itself.
 */
static enum pm_cause overall_cause(const struct pm_plan *plan)
{
	enum pm_cause cause = PM_CAUSE_INPUT;

	for (int i = STRATEGIES - 1; i >= 0; i--)
		if (plan->candidates[i].cause != PM_CAUSE_INPUT)
			cause = plan->candidates[i].cause;
	for (int i = STRATEGIES - 1; i >= 0; i--)
		if (plan->candidates[i].cause == PM_CAUSE_DESCRIPTORS ||
		    plan->candidates[i].cause == PM_CAUSE_LOCKED_MEMORY)
			cause = plan->candidates[i].cause;
	return cause;
}

/* "a, b: reason; " of a candidate and of all later ones with the same reason; its length. */
static size_t list_reason(const struct pm_plan *plan, int index, char *buf, size_t size)
{
	const char *reason = plan->candidates[index].reason;
	size_t used = 0;

	for (int i = 0; i < STRATEGIES && used < size; i++) {
		if (strcmp(plan->candidates[i].reason, reason) != 0)
			continue;
		if (i < index)
			return 0;
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
					 plan->candidates[i].strategy->name);
	}
	if (used < size)
		used += (size_t)snprintf(buf + used, size - used, ": %.120s; ", reason);
	return used < size ? used : size - 1;
}

/* A candidate becomes the chosen one, with its rings and its events. */
static void take(struct pm_plan *plan, struct candidate *candidate)
{
	const struct strategy *strategy = candidate->strategy;
	struct pm_cost cost = { .threads = plan->now.threads, .cpus = plan->now.cpus };
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned int pages;

	plan->chosen = candidate;
	strategy->cost(plan, &cost);
	pages = pm_limit_pages(plan, cost.rings);
	plan->limited = pages < plan->opts.ring_pages;
	while ((strategy->able & RING_PER_EVENT) && pages > PAGES_LEAST &&
	       cost.rings * (pages + 1) * page > TOGETHER_BYTES)
		pages /= 2;
	plan->ring_pages = pages > 0 ? pages : 1;
	plan->via_broker = false;
	for (size_t i = 0; i < plan->count; i++)
		plan->events[i].attr = plan->events[i].negotiated;
	/* What only samples need is left out where it only counts. */
	if (!plan->samples || !(strategy->able & CAN_SAMPLE))
		pm_plan_as_counters(plan);
}

/* The first that fits and is not doubted becomes the chosen one, else the first that fits. */
static int take_first(struct pm_plan *plan)
{
	for (int doubted = 0; doubted < 2; doubted++)
		for (int i = 0; i < STRATEGIES; i++) {
			struct candidate *candidate = &plan->candidates[i];

			if (!candidate->fits || candidate->doubted != doubted)
				continue;
			take(plan, candidate);
			return 0;
		}
	return -ENOTSUP;
}

/* What serves other targets alone is told only where that is all of them. */
static int turn_of(const struct candidate *candidate)
{
	return candidate->unfit ? 2 : candidate->cause == PM_CAUSE_INPUT;
}

static int refuse(const struct pm_plan *plan, struct pm_diag *diag)
{
	size_t used = 0;
	char all[440] = "";

	if (plan->refusal.error != 0)
		return pm_diag_say(diag, ENOTSUP, plan->refusal.cause, "%s", plan->refusal.text);
	/* Those that the wish did not rule out first: there is not room for all. */
	for (int turn = 0; turn < 3; turn++)
		for (int i = 0; i < STRATEGIES; i++)
			if (turn_of(&plan->candidates[i]) == turn && (turn < 2 || used == 0))
				used += list_reason(plan, i, all + used, sizeof(all) - used);
	if (used >= 2 && all[used - 2] == ';')
		all[used - 2] = '\0';
	return pm_diag_say(diag, ENOTSUP, overall_cause(plan), "no strategy: %s", all);
}

int pm_plan_choose(struct pm_plan *plan, struct pm_diag *diag)
{
	for (int i = STRATEGIES - 1; i >= 0; i--) {
		struct candidate *candidate = &plan->candidates[i];

		if (plan->opts.forbid & 1u << candidate->number)
			(void)pm_rule_out(candidate, EINVAL, "forbidden by the caller");
		else
			candidate->fits = pm_weigh(plan, candidate) == 0;
	}
	return take_first(plan) == 0 ? 0 : refuse(plan, diag);
}

int pm_plan_next(struct pm_plan *plan, const char *why)
{
	snprintf(plan->chosen->reason, REASON_SIZE, "%s", why);
	plan->chosen->fits = false;
	return take_first(plan);
}
