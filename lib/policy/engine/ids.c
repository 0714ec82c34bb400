/* SPDX-License-Identifier: MIT */
/* Ids of events: a table of those that are known, and asking for the others one at a time. */
#include "ids.h"

#include <errno.h>
#include <stdlib.h>

static size_t id_slot(const struct event_ids *ids, uint64_t id)
{
	return (size_t)(id * 0x9e3779b97f4a7c15ull >> 32) & (ids->room - 1);
}

static void enter_id(struct event_ids *ids, uint64_t id, size_t event)
{
	size_t at = id_slot(ids, id);

	while (ids->table[at] != 0 && ids->table[at] != event + 1)
		at = (at + 1) & (ids->room - 1);
	ids->table[at] = (uint32_t)event + 1;
}

/* The ioctl came with v3.12; before that only read(2) tells the id, where it was asked for. */
int pm_event_id(const struct event_list *events, struct session_event *event)
{
	const uint64_t format = events->read_format[event->spec];
	struct pm_counts counts;
	int err;

	if (event->id != 0)
		return 0;
	if (event->fd < 0)
		return -EBADF;
	err = pm_ioctl(event->fd, PERF_EVENT_IOC_ID, (unsigned long)&event->id);
	if (err == -ENOTTY && (format & PERF_FORMAT_ID) && !(format & PERF_FORMAT_GROUP)) {
		err = pm_read_counts(event->fd, format, &counts);
		event->id = err < 0 ? 0 : counts.member[0].id;
	}
	return err < 0 ? err : 0;
}

int pm_ids_index(struct event_ids *ids, const struct event_list *events)
{
	size_t room = 64;
	uint32_t *table;

	while (room < 2 * events->count)
		room *= 2;
	table = calloc(room, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;
	free(ids->table);
	*ids = (struct event_ids){ .table = table, .room = room, .changes = events->changes };
	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].id != 0)
			enter_id(ids, events->list[i].id, i);
	return 0;
}

static const struct session_event *known_id(const struct event_ids *ids,
					    const struct event_list *events, uint64_t id)
{
	size_t at = id_slot(ids, id);

	for (; ids->table[at] != 0; at = (at + 1) & (ids->room - 1))
		if (events->list[ids->table[at] - 1].id == id)
			return &events->list[ids->table[at] - 1];
	return NULL;
}

/* The kernel numbers events in the order of their opening, so a few questions find one of many. */
static bool guess_id(struct event_ids *ids, struct event_list *events, uint64_t id)
{
	size_t low = 0, high = events->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct session_event *event = &events->list[middle];

		if (pm_event_id(events, event) < 0)
			return false;
		enter_id(ids, event->id, middle);
		if (event->id == id)
			return true;
		if (event->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Nothing rests on the order: where it did not help, all are asked, once. */
static void ask_all(struct event_ids *ids, struct event_list *events)
{
	ids->asked_all = true;
	for (size_t i = 0; i < events->count; i++)
		if (pm_event_id(events, &events->list[i]) == 0)
			enter_id(ids, events->list[i].id, i);
}

const struct session_event *pm_ids_find(struct event_ids *ids, struct event_list *events,
					uint64_t id)
{
	const struct session_event *event;

	if ((ids->table == NULL || ids->changes != events->changes) &&
	    pm_ids_index(ids, events) < 0)
		return NULL;
	event = known_id(ids, events, id);
	if (event != NULL || ids->asked_all)
		return event;
	if (!guess_id(ids, events, id))
		ask_all(ids, events);
	return known_id(ids, events, id);
}

void pm_ids_free(struct event_ids *ids)
{
	free(ids->table);
	*ids = (struct event_ids){ .table = NULL };
}
