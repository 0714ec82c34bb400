/* SPDX-License-Identifier: MIT */
/* Counters that know no CPU: what they count between two readings goes to the CPU of the second. */
#include <errno.h>

#include "topology.h"

int pm_last_begin(struct pm_topology *set, int (*read)(struct pm_topology *set, uint64_t *ret))
{
	int cpu = pm_where_read(&set->where, read, set, set->counted);

	return cpu < 0 ? cpu : 0;
}

int pm_last_take(struct pm_topology *set, int (*read)(struct pm_topology *set, uint64_t *ret))
{
	uint64_t now[EVENTS_MAX];
	int cpu = pm_where_read(&set->where, read, set, now);

	if (cpu < 0)
		return cpu;
	for (size_t i = 0; i < set->events; i++) {
		struct tally *tally = pm_topology_tally(set, cpu, i);

		if (tally == NULL)
			return -ENOMEM;
		/* An estimate of a multiplexed event may become less. */
		if (now[i] <= set->counted[i])
			continue;
		tally->value += now[i] - set->counted[i];
		tally->uncertain += set->where.moved ? now[i] - set->counted[i] : 0;
		set->counted[i] = now[i];
	}
	return 0;
}

static int read_counters(struct pm_topology *set, uint64_t *ret)
{
	struct pm_value values[EVENTS_MAX] = { { .size = sizeof(values[0]) } };
	int n = pm_counters_read(set->counters, values, set->events);

	for (int i = 0; i < n; i++) {
		int err = pm_value_scale(&values[i], &ret[i]);

		/* As it was never on the PMU, nothing is known of it yet. */
		if (err == -ENODATA)
			ret[i] = 0;
		else if (err < 0)
			return err;
	}
	return n < 0 ? n : 0;
}

static int start(struct pm_topology *set, struct pm_diag *diag)
{
	int err = pm_counters_start(set->counters);

	if (err < 0) {
		(void)pm_counters_diagnose(set->counters, err, diag);
		return err;
	}
	return pm_last_begin(set, read_counters);
}

static int take(struct pm_topology *set)
{
	return pm_last_take(set, read_counters);
}

static int stop(struct pm_topology *set)
{
	return pm_counters_stop(set->counters);
}

static const struct source last = {
	.kind = PM_TOPOLOGY_LAST, .start = start, .take = take, .stop = stop,
};

int pm_last_open(struct pm_topology *set, struct pm_diag *diag)
{
	const unsigned int user = set->opts.allow & PM_ALLOW_USER_ONLY ?
		PM_COUNTERS_MAY_USER_ONLY : 0;
	int err;

	if (set->specs[0].tid < 0)
		return pm_topology_refuse(diag, -EINVAL, "topology: one CPU is not where many "
					  "threads are; name a thread, or a period");
	err = pm_counters_open(set->specs, set->events, user, NULL, diag, &set->counters);
	if (err < 0)
		return err;
	pm_where_begin(&set->where, set->specs[0].tid, -1);
	set->source = &last;
	return 0;
}
