/* SPDX-License-Identifier: MIT */
/* A plan in words. */
#include <stdio.h>

#include "../diagnosis/words.h"
#include "group.h"
#include "limits.h"
#include "modify.h"

/* What became of a name that this library may not know. */
static void put_name(struct pm_words *text, const struct plan_event *event, const char *name)
{
	const struct pm_event_spec *spec = &event->spec;

	if (event->name[0] == '\0')
		return;
	pm_put(text, "event %u, %s: \"%s\" is type %u, config 0x%llx", event->asked, name,
	    event->name, spec->type, (unsigned long long)spec->config);
	if (spec->config1 != 0 || spec->config2 != 0)
		pm_put(text, ", config1 0x%llx, config2 0x%llx", (unsigned long long)spec->config1,
		    (unsigned long long)spec->config2);
	pm_put(text, "\n");
}

static void put_events(struct pm_words *text, const struct pm_plan *plan)
{
	char name[64];

	for (size_t i = 0; i < plan->count; i++) {
		(void)pm_event_name(&plan->events[i].spec, name, sizeof(name));
		put_name(text, &plan->events[i], name);
		if (plan->events[i].hybrid[0] != '\0')
			pm_put(text, "event %u, %s: %s\n", plan->events[i].asked, name,
			    plan->events[i].hybrid);
		if (plan->events[i].why[0] != '\0')
			pm_put(text, "event %u, %s: %s\n", plan->events[i].asked, name,
			    plan->events[i].why);
	}
}

static void put_rings(struct pm_words *text, const struct pm_plan *plan)
{
	char limits[160];

	pm_put(text, "rings: %u data pages each", plan->ring_pages);
	if (plan->ring_pages < plan->opts.ring_pages) {
		pm_limit_locked_text(limits, sizeof(limits));
		if ((plan->chosen->strategy->able & RING_PER_EVENT) && !plan->limited)
			snprintf(limits, sizeof(limits), "all together are held to 64 MiB");
		pm_put(text, " of the %u that were asked for: %s", plan->opts.ring_pages, limits);
	}
	pm_put(text, "\n");
}

/* Which events lead others, and of what the values in their samples are. */
static void put_groups(struct pm_words *text, const struct pm_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *leader = &plan->events[i];

		if (pm_group_leader(plan, leader) != leader)
			continue;
		pm_put(text, "group values: %s; event %u leads", pm_group_whose(plan),
		    leader->asked);
		for (size_t j = i + 1; j < plan->count; j++)
			if (pm_group_leader(plan, &plan->events[j]) == leader)
				pm_put(text, " %u", plan->events[j].asked);
		pm_put(text, "%s%s\n", leader->pmu[0] ? " on its kind of cores" : "",
		    pm_group_share(plan, leader));
	}
}

/* What is done without, each in the line where its effect is told. */
static void put_modifiers(struct pm_words *text, const struct pm_plan *plan)
{
	const char *no_clock = plan->without[MODIFIER_CLOCK];
	const char *no_lost = plan->without[MODIFIER_LOST];

	if (plan->samples) {
		pm_put(text, "clock: %s%s%s%s\n", pm_modify_clock(plan), no_clock[0] ? " (" : "",
		    no_clock, no_clock[0] ? ")" : "");
		pm_put(text, "loss: %s%s%s%s\n",
		    pm_plan_takes(plan, MODIFIER(LOST)) ? "records and PERF_FORMAT_LOST" :
		    "records",
		    no_lost[0] ? " (" : "", no_lost, no_lost[0] ? ")" : "");
	}
	for (int i = 0; i < MODIFIERS; i++)
		if (plan->without[i][0] && i != MODIFIER_CLOCK && i != MODIFIER_LOST)
			pm_put(text, "without %s: %s\n", pm_modify_name(i), plan->without[i]);
}

/* What sums hold beside what was asked for. */
static void put_children(struct pm_words *text, const struct pm_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (!pm_plan_counts_children(plan, &plan->events[i], plan->chosen->strategy->able))
			continue;
		pm_put(text, "sums: child processes are in them, too: inheritance by threads "
		    "alone is refused (%s)\n", pm_errno_name(-plan->threads_refused));
		return;
	}
}

static void put_passed_over(struct pm_words *text, const struct candidate *candidate)
{
	pm_put(text, "passed over: %s: %s\n", candidate->strategy->name,
	    candidate->fits && !candidate->doubted ? "comes after the chosen one" :
	    candidate->reason);
}

int pm_plan_explain(const struct pm_plan *plan, char *buf, size_t size)
{
	const struct candidate *chosen = plan->chosen;
	struct pm_words text = { buf, size, 0 };

	pm_put(&text, "chosen: %s (%s)\n", chosen->strategy->name, chosen->strategy->what);
	for (int i = 0; i < STRATEGIES; i++)
		if (&plan->candidates[i] != chosen)
			put_passed_over(&text, &plan->candidates[i]);
	if (chosen->fits && chosen->doubted)
		pm_put(&text, "nothing better is left: %s\n", chosen->reason);
	if (plan->profile_says[0] != '\0')
		pm_put(&text, "%s; what is installed or built in instead\n", plan->profile_says);
	put_events(&text, plan);
	if ((chosen->strategy->able & USES_RINGS) && plan->samples)
		put_rings(&text, plan);
	if ((chosen->strategy->able & (USES_RINGS | USES_PERF)))
		put_modifiers(&text, plan);
	put_groups(&text, plan);
	put_children(&text, plan);
	if (plan->opts.side != 0 && (!(chosen->strategy->able & USES_RINGS) || !plan->samples))
		pm_put(&text, "without side-band: %s\n", plan->samples ?
		    "this strategy has no rings" : "no event is sampled");
	if (plan->unproven[0] != '\0')
		pm_put(&text, "not proven: %s\n", plan->unproven);
	return text.length;
}
