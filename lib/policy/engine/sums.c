/* SPDX-License-Identifier: MIT */
/* Sums over the events of each spec. */
#include "sums.h"

#include <string.h>
#include <unistd.h>

static void add(struct pm_value *sum, const struct pm_counts *counts)
{
	sum->value += counts->member[0].value;
	sum->enabled += counts->time_enabled;
	sum->running += counts->time_running;
}

static void fold(struct sums *sums, const struct event_list *events,
		 const struct session_event *event, struct pm_value *also)
{
	struct pm_counts counts;

	if (pm_event_counts(events, event, &counts) < 0)
		return;
	add(&sums->closed[event->spec], &counts);
	if (also != NULL)
		add(&also[event->spec], &counts);
	sums->lost += counts.member[0].lost;
}

void pm_sums_fold(struct sums *sums, const struct event_list *events,
		  const struct session_event *event)
{
	fold(sums, events, event, NULL);
}

void pm_sums_close(struct sums *sums, const struct event_list *events,
		   struct session_event *event, struct pm_value *also)
{
	fold(sums, events, event, also);
	close(event->fd);
	event->fd = -1;
}

int pm_sums_read(const struct sums *sums, const struct event_list *events, struct pm_value *ret)
{
	memcpy(ret, sums->closed, PLAN_EVENTS_MAX * sizeof(*ret));
	for (size_t i = 0; i < events->count; i++) {
		const struct session_event *event = &events->list[i];
		struct pm_counts counts;
		int err;

		if (event->fd < 0 || event->spec >= PLAN_EVENTS_MAX)
			continue;
		err = pm_event_counts(events, event, &counts);
		if (err < 0)
			return err;
		add(&ret[event->spec], &counts);
	}
	return 0;
}

uint64_t pm_sums_lost(const struct sums *sums, const struct event_list *events)
{
	uint64_t lost = sums->lost;
	struct pm_counts counts;

	for (size_t i = 0; i < events->count; i++)
		if (pm_event_counts(events, &events->list[i], &counts) == 0)
			lost += counts.member[0].lost;
	return lost;
}
