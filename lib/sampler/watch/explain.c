/* SPDX-License-Identifier: MIT */
/* A sampler in words. */
#include "../../policy/diagnosis/words.h"
#include "../../policy/plan/modify.h"
#include "negotiate.h"
#include "opening.h"

static void add_rate(struct pm_words *text, const struct plan_event *event)
{
	if (event->spec.frequency != 0)
		pm_put(text, ", %llu a second", (unsigned long long)event->spec.frequency);
	else if (event->spec.period != 0)
		pm_put(text, ", every %llu", (unsigned long long)event->attr.sample_period);
	else
		pm_put(text, ", counted");
}

/* CPUs that a PMU is not of. */
static void add_missing(struct pm_words *text, const struct pm_sampler *sampler, size_t index)
{
	size_t count = 0, missing = 0;

	if (sampler->way == WAY_THREADS)
		return;
	for (size_t i = 0; i < sampler->open.count; i++)
		count += sampler->open.list[i].spec == index;
	missing = sampler->rings.count - count;
	if (count < sampler->rings.count)
		pm_put(text, "; not on %zu of %zu CPUs", missing, sampler->rings.count);
}

static void add_event(struct pm_words *text, const struct pm_sampler *sampler, size_t index)
{
	const struct plan_event *event = &sampler->plan->events[index];
	char name[320];

	(void)pm_event_name(&event->spec, name, sizeof(name));
	if (event->side)
		pm_put(text, "side-band");
	else
		pm_put(text, "event %zu: %s (type %u, config %#llx)", index, name, event->attr.type,
		    (unsigned long long)event->attr.config);
	if (!event->side)
		add_rate(text, event);
	if (!pm_watch_leads(sampler, index))
		pm_put(text, ", with event %u", event->led_by - 1);
	add_missing(text, sampler, index);
	pm_put(text, "%s%s\n", event->why[0] ? "; " : "", event->why);
}

/* Whether it was needed, and what became of what it was asked for. */
static void add_broker(struct pm_words *text, const struct pm_sampler *sampler)
{
	const unsigned long long given = sampler->broker.opened;

	if (sampler->broker.socket < 0)
		return;
	if (given == 0 && sampler->broker.error == 0) {
		pm_put(text, "broker: not needed\n");
		return;
	}
	pm_put(text, "broker: opened %llu descriptors", given);
	if (sampler->broker.error != 0)
		pm_put(text, ", not %llu; last it said %s",
		    (unsigned long long)sampler->broker.refused,
		    pm_watch_broker_says(sampler));
	pm_put(text, "\n");
}

int pm_sampler_explain(const struct pm_sampler *sampler, char *buf, size_t size)
{
	const struct pm_plan *plan = sampler->plan;
	struct pm_words text = { buf, size, 0 };

	pm_put(&text, "by %s, %u pages a ring, stamped by %s%s\n", pm_watch_way_name(sampler->way),
	    sampler->pages, pm_modify_clock(plan),
	    pm_watch_has_clock(sampler) ? "" : " clock");
	for (enum way way = 0; way < WAYS; way++)
		if (way != sampler->way && sampler->reasons[way][0] != '\0')
			pm_put(&text, "not by %s: %s\n", pm_watch_way_name(way),
			    sampler->reasons[way]);
	for (int i = 0; i < MODIFIERS; i++)
		if (plan->without[i][0] != '\0')
			pm_put(&text, "without %s: %s\n", pm_modify_name(i), plan->without[i]);
	add_broker(&text, sampler);
	for (size_t i = 0; i <= sampler->count; i++)
		add_event(&text, sampler, i);
	return text.length;
}
