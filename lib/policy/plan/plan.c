/* SPDX-License-Identifier: MIT */
/* Choosing a strategy, and telling why. */
#include "plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../diagnosis/diag.h"

#define ROUNDS 8
#define DESCRIPTORS_PERCENT 50
#define RING_PAGES 128
#define RING_PAGES_MAX 65536

/* The rings of the strategy that is now the chosen one. */
static void size_rings(struct pm_plan *plan)
{
	struct pm_cost cost = { .threads = plan->now.threads, .cpus = plan->now.cpus };
	unsigned int pages;

	pm_strategies[plan->chosen].cost(plan, &cost);
	pages = pm_limit_pages(plan, cost.rings);
	plan->ring_pages = pages > 0 ? pages : 1;
}

/*
 * Whose fault it is that nothing is left: a limit, if some strategy would have done but for it;
 * else what the first one met that was not ruled out by the wish itself.
 */
static enum pm_cause overall_cause(const struct pm_plan *plan)
{
	enum pm_cause cause = PM_CAUSE_INPUT;

	for (int row = PM_STRATEGIES - 1; row >= 0; row--)
		if (plan->cause[row] != PM_CAUSE_INPUT)
			cause = plan->cause[row];
	for (int row = PM_STRATEGIES - 1; row >= 0; row--)
		if (plan->cause[row] == PM_CAUSE_DESCRIPTORS ||
		    plan->cause[row] == PM_CAUSE_LOCKED_MEMORY)
			cause = plan->cause[row];
	return cause;
}

/* "a, b: reason; " of the row and of all others with the same reason. Returns the length. */
static size_t list_reason(const struct pm_plan *plan, int row, char *buf, size_t size)
{
	size_t used = 0;

	for (int other = 0; other < PM_STRATEGIES && used < size; other++) {
		if (strcmp(plan->reason[other], plan->reason[row]) != 0)
			continue;
		if (other < row)
			return 0;
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
					 pm_strategies[other].name);
	}
	if (used < size)
		used += (size_t)snprintf(buf + used, size - used, ": %.120s; ", plan->reason[row]);
	return used < size ? used : size - 1;
}

/* The first that fits and is not doubted becomes the chosen one, else the first that fits. */
static int take_first(struct pm_plan *plan)
{
	for (int doubted = 0; doubted < 2; doubted++)
		for (int row = 0; row < PM_STRATEGIES; row++)
			if (plan->fits[row] && plan->doubted[row] == doubted) {
				plan->chosen = row;
				size_rings(plan);
				return 0;
			}
	return -ENOTSUP;
}

static int choose(struct pm_plan *plan, struct pm_diag *diag)
{
	size_t used = 0;
	char all[440] = "";

	for (int row = PM_STRATEGIES - 1; row >= 0; row--)
		plan->fits[row] = pm_plan_weigh(plan, row) == 0;
	if (take_first(plan) == 0)
		return 0;
	if (plan->refusal.error != 0)
		return pm_diag_say(diag, ENOTSUP, plan->refusal.cause, "%s", plan->refusal.text);
	/* Those that the wish did not rule out first: there is not room for all. */
	for (int turn = 0; turn < 2; turn++)
		for (int row = 0; row < PM_STRATEGIES; row++)
			if ((plan->cause[row] == PM_CAUSE_INPUT) == turn)
				used += list_reason(plan, row, all + used, sizeof(all) - used);
	if (used >= 2 && all[used - 2] == ';')
		all[used - 2] = '\0';
	return pm_diag_say(diag, ENOTSUP, overall_cause(plan), "no strategy: %s", all);
}

int pm_plan_next(struct pm_plan *plan, const char *why)
{
	snprintf(plan->reason[plan->chosen], REASON_SIZE, "%s", why);
	plan->fits[plan->chosen] = false;
	return take_first(plan);
}

/* ---------------------------------------------------------------------------------------- make */

static int take_spec(struct pm_plan *plan, struct plan_event *event)
{
	struct pm_event_spec *spec = &event->spec;

	if (spec->tid < PM_CGROUP || (spec->period != 0 && spec->frequency != 0) ||
	    (spec->tid == PM_CGROUP && plan->opts.cgroup < 0))
		return -EINVAL;
	if (spec->filter != NULL) {
		if (spec->type != PERF_TYPE_TRACEPOINT || strlen(spec->filter) >= FILTER_SIZE)
			return -EINVAL;
		spec->filter = strcpy(event->filter, spec->filter);
	}
	plan->samples |= spec->period != 0 || spec->frequency != 0;
	return 0;
}

static int take_specs(struct pm_plan *plan, const struct pm_event_spec *specs, size_t count)
{
	int err = count == 0 || count > PLAN_EVENTS_MAX ? -EINVAL : 0;

	for (size_t i = 0; err == 0 && i < count; i++) {
		err = pm_spec_take(specs, i, &plan->events[i].spec) ?
			take_spec(plan, &plan->events[i]) : -EINVAL;
		plan->count = i + 1;
	}
	return err;
}

static int take_opts(struct pm_plan *plan, const struct pm_session_opts *from)
{
	struct pm_session_opts *opts = &plan->opts;

	if (from != NULL && !pm_take(opts, sizeof(*opts), from,
				     offsetof(struct pm_session_opts, wakeup)))
		return -EINVAL;
	if (opts->cpus != NULL) {
		if (strlen(opts->cpus) >= CPUS_SIZE ||
		    pm_cpulist_each(opts->cpus, NULL, NULL) <= 0)
			return -EINVAL;
		opts->cpus = strcpy(plan->cpus, opts->cpus);
	}
	if (opts->rounds == 0)
		opts->rounds = ROUNDS;
	if (opts->descriptors_percent == 0)
		opts->descriptors_percent = DESCRIPTORS_PERCENT;
	if (opts->ring_pages == 0)
		opts->ring_pages = RING_PAGES;
	if (opts->descriptors_percent > 100 || opts->ring_pages > RING_PAGES_MAX ||
	    (opts->ring_pages & (opts->ring_pages - 1)))
		return -EINVAL;
	return 0;
}

static int load_profile(struct pm_plan *plan, struct pm_diag *diag)
{
	struct pm_diag said = { .size = sizeof(said) };
	int err = pm_profile_load_default(&said, &plan->profile);

	plan->owns_profile = true;
	if (err < 0)
		return pm_diag_say(diag, -err, said.cause, "%s", said.text);
	if (err > 0)
		snprintf(plan->profile_says, sizeof(plan->profile_says), "%s", said.text);
	return 0;
}

static int make(struct pm_plan *plan, struct pm_diag *diag)
{
	int err = plan->profile ? 0 : load_profile(plan, diag);

	if (err == 0)
		err = pm_profile_probe(plan->profile, NULL, 0);
	if (err < 0)
		return err;
	pm_limit_look(plan);
	pm_modify_begin(plan);
	plan->refusal.size = sizeof(plan->refusal);
	pm_plan_negotiate(plan);
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
	err = take_opts(plan, opts);
	if (err == 0)
		err = take_specs(plan, specs, count);
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
		(void)pm_event_name(&plan->events[i].spec, name, sizeof(name));
		if (plan->events[i].why[0] != '\0')
			put(text, "event %zu, %s: %s\n", i, name, plan->events[i].why);
	}
}

static void put_rings(struct text *text, const struct pm_plan *plan)
{
	char limits[160];

	put(text, "rings: %u data pages each", plan->ring_pages);
	if (plan->ring_pages < plan->opts.ring_pages) {
		pm_limit_locked_text(limits, sizeof(limits));
		put(text, " of the %u that were asked for: %s", plan->opts.ring_pages, limits);
	}
	put(text, "\n");
}

/* What is done without, each in the line where its effect is told. */
static void put_modifiers(struct text *text, const struct pm_plan *plan)
{
	const char *no_clock = plan->without[MODIFIER_CLOCK];
	const char *no_lost = plan->without[MODIFIER_LOST];

	if (plan->samples) {
		put(text, "clock: %s%s%s%s\n", pm_modify_clock(plan), no_clock[0] ? " (" : "",
		    no_clock, no_clock[0] ? ")" : "");
		put(text, "loss: %s%s%s%s\n",
		    plan->lost ? "records and PERF_FORMAT_LOST" : "records",
		    no_lost[0] ? " (" : "", no_lost, no_lost[0] ? ")" : "");
	}
	for (int i = 0; i < MODIFIERS; i++)
		if (plan->without[i][0] && i != MODIFIER_CLOCK && i != MODIFIER_LOST)
			put(text, "without %s: %s\n", pm_modify_name(i), plan->without[i]);
}

int pm_plan_explain(const struct pm_plan *plan, char *buf, size_t size)
{
	const struct strategy *chosen = &pm_strategies[plan->chosen];
	struct text text = { buf, size, 0 };

	put(&text, "chosen: %s (%s)\n", chosen->name, chosen->what);
	for (int row = 0; row < PM_STRATEGIES; row++)
		if (row != plan->chosen)
			put(&text, "passed over: %s: %s\n", pm_strategies[row].name,
			    plan->fits[row] && !plan->doubted[row] ?
			    "comes after the chosen one" : plan->reason[row]);
	if (plan->fits[plan->chosen] && plan->doubted[plan->chosen])
		put(&text, "nothing better is left: %s\n", plan->reason[plan->chosen]);
	if (plan->profile_says[0] != '\0')
		put(&text, "%s; what is installed or built in instead\n", plan->profile_says);
	put_events(&text, plan);
	if ((chosen->able & USES_RINGS) && plan->samples)
		put_rings(&text, plan);
	if ((chosen->able & (USES_RINGS | USES_PERF)))
		put_modifiers(&text, plan);
	return text.length;
}
