/* SPDX-License-Identifier: MIT */
/* The exact way: an event for each thread and CPU, which counts nowhere else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology.h"

/* As many parts as there are; threads that come later inherit and add none. */
static int read_parts(struct pm_topology *set)
{
	for (;;) {
		struct pm_part *parts;
		int n;

		if (set->parts_room > 0)
			set->parts->size = sizeof(*set->parts);
		n = pm_session_read_parts(set->session, set->parts, set->parts_room);
		if (n < 0 || (size_t)n <= set->parts_room)
			return n;
		parts = realloc(set->parts, (size_t)n * sizeof(*parts));
		if (parts == NULL)
			return -ENOMEM;
		memset(parts, 0, (size_t)n * sizeof(*parts));	/* no page of it is new later */
		set->parts = parts;
		set->parts_room = (size_t)n;
	}
}

static int take(struct pm_topology *set)
{
	int n = read_parts(set);

	return n < 0 ? n : pm_topology_take_parts(set, set->parts, (size_t)n);
}

static int start(struct pm_topology *set, struct pm_diag *diag)
{
	int err;

	pm_session_destroy(set->session);
	set->session = pm_session_create(set->plan, NULL, NULL);
	if (set->session == NULL)
		return -ENOMEM;
	pm_topology_forget_parts(set);
	err = pm_session_attach(set->session, diag);
	return err < 0 ? err : 0;
}

static int stop(struct pm_topology *set)
{
	return pm_session_detach(set->session);
}

static const struct source exact = {
	.kind = PM_TOPOLOGY_EXACT, .start = start, .take = take, .stop = stop,
};

int pm_exact_open(struct pm_topology *set, struct pm_diag *diag)
{
	struct pm_session_opts opts = { .size = sizeof(opts), .allow = set->opts.allow };
	struct pm_event_spec specs[EVENTS_MAX];
	int err;

	memcpy(specs, set->specs, sizeof(specs));
	for (size_t i = 0; i < set->events; i++)
		specs[i].want = PM_WANT_CPU;
	err = pm_plan_make(specs, set->events, &opts, NULL, diag, &set->plan);
	if (err < 0)
		return err;
	set->source = &exact;
	return 0;
}
