/* SPDX-License-Identifier: MIT */
/*
 * Values of a group in samples: PERF_SAMPLE_READ with PERF_FORMAT_GROUP.
 *
 * An inherited event that samples values was refused until Linux commit 7e8b255650fc ("perf:
 * Support PERF_SAMPLE_READ with inherit") (v6.13), and has values of each thread since. Nothing
 * looks at a version: with a refusal no strategy is left that inherits, and the next one has its
 * turn.
 *
 * A member that is enabled or opened after its leader may stand still until its thread is switched
 * in again, if its PMU is another one, as those of the clocks and of other software events are
 * (seen on 6.18). So all are opened disabled, and leaders are enabled last.
 */
#include "group.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>


static bool is_in_group(const struct plan_event *event)
{
	return event->spec.want & PM_WANT_GROUP;
}

const struct plan_event *pm_group_leader(const struct pm_plan *plan,
					 const struct plan_event *event)
{
	if (event->led_by != 0)
		return &plan->events[event->led_by - 1];
	if (!pm_plan_takes(plan, MODIFIER(GROUP)) || !is_in_group(event))
		return NULL;
	for (const struct plan_event *other = plan->events; other < event; other++)
		if (is_in_group(other) && other->spec.tid == event->spec.tid &&
		    strcmp(other->pmu, event->pmu) == 0)
			return other;
	return event;
}

const struct plan_event *pm_group_led_by(const struct pm_plan *plan,
					 const struct plan_event *event)
{
	const struct plan_event *leader = pm_group_leader(plan, event);

	return leader != event ? leader : NULL;
}

/* Records of all events have one layout, so those in no group are a group by themselves. */
void pm_group_set(const struct pm_plan *plan, const struct plan_event *event,
		  struct perf_event_attr *attr)
{
	/* The kernel pins whole groups, by their leaders. */
	if (pm_group_led_by(plan, event) != NULL)
		attr->pinned = attr->exclusive = 0;
	if (!(pm_plan_modifiers(plan, event) & MODIFIER(GROUP)))
		return;
	attr->sample_type |= PERF_SAMPLE_READ;
	attr->read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
}

int pm_group_suits(const struct pm_plan *plan, struct candidate *candidate)
{
	const unsigned int able = candidate->strategy->able;

	if (!pm_plan_takes(plan, MODIFIER(GROUP)))
		return 0;
	if (!(able & GIVES_GROUPS))
		return pm_rule_out(candidate, EINVAL, "its samples do not have the values of a "
				   "group");
	for (size_t i = 0; i < plan->count && (able & OWNED_BY_CPU); i++)
		if (plan->events[i].spec.tid > PM_SYSTEM)
			return pm_rule_out(candidate, EINVAL, "the values of a group would be of "
					   "all processes");
	return 0;
}

static bool takes_no_turns(const struct plan_event *event)
{
	return event->attr.pinned || pm_takes_no_turns(event->attr.type);
}

bool pm_group_is_always_on(const struct pm_plan *plan, const struct plan_event *event)
{
	const struct plan_event *leader = pm_group_leader(plan, event);

	if (leader == NULL || leader->attr.pinned)
		return takes_no_turns(leader ? leader : event);
	for (size_t i = 0; i < plan->count; i++)
		if (pm_group_leader(plan, &plan->events[i]) == leader &&
		    !takes_no_turns(&plan->events[i]))
			return false;
	return true;
}

/*
 * An event of a thread on one CPU is enabled for as long as the thread runs anywhere, and one of a
 * kind of cores likewise.
 */
void pm_group_times(const struct pm_plan *plan, unsigned int able, const struct plan_event *event,
		    uint64_t *enabled, uint64_t *running)
{
	if ((able & OWNED_BY_CPU) || (!event->pmu[0] && !(able & BY_CPU)))
		return;
	if (!pm_group_is_always_on(plan, event))
		*running = 0;
	*enabled = *running;
}

bool pm_group_give_up(struct pm_plan *plan)
{
	char *without = plan->without[MODIFIER_GROUP];

	if (!pm_plan_takes(plan, MODIFIER(GROUP)))
		return false;
	plan->modifiers &= ~MODIFIER(GROUP);
	snprintf(without, sizeof(plan->without[MODIFIER_GROUP]), "no strategy is left whose "
		 "samples have them");
	return true;
}

const char *pm_group_share(const struct pm_plan *plan, const struct plan_event *event)
{
	uint64_t enabled = 1, running = 1;

	pm_group_times(plan, plan->chosen->strategy->able, event, &enabled, &running);
	return running ? "" : ", its share of time is not known";
}

const char *pm_group_whose(const struct pm_plan *plan)
{
	const unsigned int able = plan->chosen->strategy->able;

	if (able & OWNED_BY_CPU)
		return "of the sample's CPU";
	return able & BY_CPU ? "of the sample's thread on its CPU" : "of the sample's thread";
}
