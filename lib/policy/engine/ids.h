/* SPDX-License-Identifier: MIT */
/* Telling samples apart by the ids of their events; not installed. */
#ifndef PM_IDS_H
#define PM_IDS_H

#include "events.h"

struct event_ids {
	uint32_t *table;		/* event index + 1, open addressing; NULL: not in use */
	size_t room;
	uint32_t changes;		/* of the events, as the table has them */
	bool asked_all;			/* no event is left whose id is not known */
};

/* Asks for the id of one event, to be called before its descriptor goes. 0 or -errno. */
int pm_event_id(const struct event_list *events, struct session_event *event);

/* From now on samples are told apart by their ids, which are asked for as they turn up. -ENOMEM. */
int pm_ids_index(struct event_ids *ids, const struct event_list *events);

/* The event of that id; NULL: none of these, or no memory. */
const struct session_event *pm_ids_find(struct event_ids *ids, struct event_list *events,
					uint64_t id);

void pm_ids_free(struct event_ids *ids);

#endif
