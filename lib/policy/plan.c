/* SPDX-License-Identifier: MIT */
/* Choosing a strategy, and telling why. */
#include "plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "profile.h"

#define ROUNDS 8
#define DESCRIPTORS_PERCENT 50
#define RING_PAGES 128
#define RING_PAGES_MAX 65536

/* ----------------------------------------------------------------------------------- what holds */

/* True when the need holds; else the reason. */
static bool holds(const struct pm_profile *profile, const struct need *need, char *reason)
{
	enum pm_verdict verdict = PM_UNKNOWN;
	struct pm_fact fact;

	if (pm_profile_lookup(profile, need->key, &fact) == 0)
		verdict = fact.verdict;
	if (verdict == PM_YES || (verdict == PM_UNKNOWN && !need->certain))
		return true;
	snprintf(reason, REASON_SIZE, "%s is %s", need->key, pm_verdict_word(verdict));
	return false;
}

static void weigh(struct pm_plan *plan, int row)
{
	const struct strategy *strategy = &pm_strategies[row];
	char *reason = plan->reason[row];

	if (plan->opts.forbid & 1u << row) {
		snprintf(reason, REASON_SIZE, "forbidden by the caller");
		return;
	}
	/* The refusal of the very event says more than a fact about events in general. */
	if (strategy->fits(plan, reason, REASON_SIZE) < 0)
		return;
	for (const struct need *need = strategy->needs; need->key != NULL; need++)
		if (!holds(plan->profile, need, reason))
			return;
	plan->fits[row] = true;
}

static int choose(struct pm_plan *plan, struct pm_diag *diag)
{
	size_t used = 0;
	char all[400] = "";

	plan->chosen = PM_STRATEGIES;
	for (int row = PM_STRATEGIES - 1; row >= 0; row--) {
		weigh(plan, row);
		if (plan->fits[row])
			plan->chosen = row;
	}
	if (plan->chosen < PM_STRATEGIES)
		return 0;
	if (plan->refusal.error != 0)
		return pm_diag_say(diag, ENOTSUP, plan->refusal.cause, "%s", plan->refusal.text);
	for (int row = 0; row < PM_STRATEGIES && used < sizeof(all); row++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s: %.80s",
					 row ? "; " : "", pm_strategies[row].name,
					 plan->reason[row]);
	return pm_diag_say(diag, ENOTSUP, PM_CAUSE_UNSUPPORTED, "no strategy: %s", all);
}

int pm_plan_next(struct pm_plan *plan, const char *why)
{
	snprintf(plan->reason[plan->chosen], REASON_SIZE, "%s", why);
	plan->fits[plan->chosen] = false;
	for (int row = plan->chosen + 1; row < PM_STRATEGIES; row++)
		if (plan->fits[row]) {
			plan->chosen = row;
			return 0;
		}
	return -ENOTSUP;
}

/* ---------------------------------------------------------------------------------------- make */

static int take_specs(struct pm_plan *plan, const struct pm_event_spec *specs, size_t count)
{
	if (count == 0 || count > PLAN_EVENTS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (specs[i].size != sizeof(specs[i]) || specs[i].tid < PM_ALL_THREADS ||
		    (specs[i].period != 0 && specs[i].frequency != 0))
			return -EINVAL;
		plan->events[i].spec = specs[i];
		plan->samples |= specs[i].period != 0 || specs[i].frequency != 0;
	}
	plan->count = count;
	return 0;
}

static int take_opts(struct pm_plan *plan, const struct pm_session_opts *opts)
{
	if (opts != NULL && opts->size != sizeof(*opts))
		return -EINVAL;
	if (opts != NULL)
		plan->opts = *opts;
	if (plan->opts.rounds == 0)
		plan->opts.rounds = ROUNDS;
	if (plan->opts.descriptors_percent == 0)
		plan->opts.descriptors_percent = DESCRIPTORS_PERCENT;
	if (plan->opts.ring_pages == 0)
		plan->opts.ring_pages = RING_PAGES;
	if (plan->opts.descriptors_percent > 100 || plan->opts.ring_pages > RING_PAGES_MAX ||
	    (plan->opts.ring_pages & (plan->opts.ring_pages - 1)))
		return -EINVAL;
	return 0;
}

static bool is_not_refuted(const struct pm_profile *profile, const char *key)
{
	struct pm_fact fact;

	return pm_profile_lookup(profile, key, &fact) < 0 || fact.verdict == PM_YES;
}

static void take_modifiers(struct pm_plan *plan)
{
	plan->cloexec = is_not_refuted(plan->profile, "attach.cloexec.sets_flag");
	plan->identifier = is_not_refuted(plan->profile, "attr.sample_type_bits.identifier");
	plan->lost = is_not_refuted(plan->profile, "attr.read_format_bits.lost");
	plan->clockid = is_not_refuted(plan->profile, "attr.flag_bits.use_clockid") &&
		is_not_refuted(plan->profile, "clock.clockid.monotonic.stamps");
}

static int make(struct pm_plan *plan, struct pm_diag *diag)
{
	int err = 0;

	if (plan->profile == NULL) {
		plan->owns_profile = true;
		err = pm_profile_load_default(diag, &plan->profile);
	}
	if (err == 0)
		err = pm_profile_probe(plan->profile, NULL, 0);
	if (err < 0)
		return err;
	take_modifiers(plan);
	plan->refusal.size = sizeof(plan->refusal);
	pm_plan_trial(plan);
	return choose(plan, diag);
}

int pm_plan_make(const struct pm_event_spec *specs, size_t count,
		 const struct pm_session_opts *opts, struct pm_profile *profile,
		 struct pm_diag *diag, struct pm_plan **ret)
{
	struct pm_plan *plan = calloc(1, sizeof(*plan));
	int err;

	if (plan == NULL)
		return -ENOMEM;
	plan->profile = profile;
	err = take_specs(plan, specs, count);
	if (err == 0)
		err = take_opts(plan, opts);
	if (err < 0)
		(void)pm_diag_say(diag, -err, PM_CAUSE_INPUT, "plan: a spec or option that makes "
				  "no sense");
	else
		err = make(plan, diag);
	if (err < 0) {
		pm_plan_destroy(plan);
		return err;
	}
	*ret = plan;
	return 0;
}

void pm_plan_destroy(struct pm_plan *plan)
{
	if (plan != NULL && plan->owns_profile)
		pm_profile_destroy(plan->profile);
	free(plan);
}

/* ---------------------------------------------------------------------------------------- tell */

enum pm_strategy pm_plan_strategy(const struct pm_plan *plan)
{
	return (enum pm_strategy)plan->chosen;
}

struct text {
	char *at;
	size_t left;
	int length;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *text, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text->at, text->left, format, list);
	va_end(list);
	if (n < 0)
		return;
	text->length += n;
	if (text->left > 0) {
		size_t used = (size_t)n < text->left ? (size_t)n : text->left - 1;

		text->at += used;
		text->left -= used;
	}
}

static void put_events(struct text *text, const struct pm_plan *plan)
{
	char name[64];

	for (size_t i = 0; i < plan->count; i++) {
		pm_event_name(&plan->events[i].spec, name, sizeof(name));
		if (plan->events[i].why[0] != '\0')
			put(text, "event %zu, %s: %s\n", i, name, plan->events[i].why);
	}
}

int pm_plan_explain(const struct pm_plan *plan, char *buf, size_t size)
{
	struct text text = { buf, size, 0 };

	put(&text, "chosen: %s (%s)\n", pm_strategies[plan->chosen].name,
	    pm_strategies[plan->chosen].what);
	for (int row = 0; row < PM_STRATEGIES; row++)
		if (row != plan->chosen)
			put(&text, "passed over: %s: %s\n", pm_strategies[row].name,
			    plan->fits[row] ? "comes after the chosen one" : plan->reason[row]);
	put_events(&text, plan);
	if (plan->chosen != PM_STRATEGY_TIMERS && plan->samples)
		put(&text, "clock: %s; loss: %s\n",
		    plan->clockid ? "CLOCK_MONOTONIC" : "perf's own",
		    plan->lost ? "records and PERF_FORMAT_LOST" : "records");
	return text.length;
}

int pm_plan_cost(const struct pm_plan *plan, struct pm_cost *ret)
{
	struct pm_cost cost = { .size = ret->size };
	int cpus = pm_cpus_online();

	cost.threads = pm_thread_count();
	cost.cpus = cpus > 0 ? (uint64_t)cpus : 1;
	pm_strategies[plan->chosen].cost(plan, &cost);
	memcpy(ret, &cost, ret->size < sizeof(cost) ? ret->size : sizeof(cost));
	return 0;
}
