/* SPDX-License-Identifier: MIT */
/* Sets: from open to close, and what is common to all sources. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology.h"

#define READINGS_DEFAULT 1024
#define READINGS_MAX (1 << 24)

int pm_topology_refuse(struct pm_diag *diag, int error, const char *text)
{
	struct pm_diag line = { .size = sizeof(line), .error = -error, .cause = PM_CAUSE_INPUT };

	strncpy(line.text, text, sizeof(line.text) - 1);
	if (diag == NULL || diag->size <= offsetof(struct pm_diag, text))
		return error;
	line.size = diag->size;
	memcpy(diag, &line, diag->size < sizeof(line) ? diag->size : sizeof(line));
	((char *)diag)[(diag->size < sizeof(line) ? diag->size : sizeof(line)) - 1] = '\0';
	return error;
}

int pm_topology_make(hwloc_topology_t topology, size_t events, const struct pm_topology_opts *opts,
		     struct pm_topology **ret)
{
	struct pm_topology *set;

	if (topology == NULL || events == 0 || events > EVENTS_MAX)
		return -EINVAL;
	if (opts != NULL && (opts->size < sizeof(opts->size) || opts->size > 4096))
		return -EINVAL;
	set = calloc(1, sizeof(*set));
	if (set == NULL)
		return -ENOMEM;
	if (opts != NULL)
		memcpy(&set->opts, opts,
		       opts->size < sizeof(*opts) ? opts->size : sizeof(*opts));
	if (set->opts.readings == 0)
		set->opts.readings = READINGS_DEFAULT;
	set->topology = topology;
	set->events = events;
	set->where.tied = -1;
	set->event_set = -1;
	set->row_of = calloc(1 + CPUS_MAX, sizeof(*set->row_of));
	if (set->opts.readings <= READINGS_MAX)
		set->readings = calloc(set->opts.readings, sizeof(*set->readings));
	if (set->row_of == NULL || set->readings == NULL) {
		pm_topology_destroy(set);
		return -ENOMEM;
	}
	*ret = set;
	return 0;
}

/* ----------------------------------------------------------------------------------- event sets */

static int take_specs(struct pm_topology *set, const struct pm_event_spec *specs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct pm_event_spec *spec =
			(const void *)((const char *)specs + i * specs->size);

		set->specs[i] = (struct pm_event_spec){ .size = 0 };
		memcpy(&set->specs[i], spec, specs->size < sizeof(*spec) ? specs->size :
		       sizeof(*spec));
		set->specs[i].size = sizeof(*spec);
		if (set->specs[i].tid != specs->tid || set->specs[i].want != 0 ||
		    set->specs[i].period != 0 || set->specs[i].frequency != 0)
			return -EINVAL;
		(void)pm_event_name(&set->specs[i], set->names[i], sizeof(set->names[i]));
	}
	return 0;
}

/* The first of the ways that the options leave, and that works. */
static int open_source(struct pm_topology *set, struct pm_diag *diag)
{
	const unsigned int flags = set->opts.flags;
	int err = -ENOTSUP;

	if (!(flags & PM_TOPOLOGY_SPLIT)) {
		err = pm_exact_open(set, diag);
		if (err == 0 || err == -ENOMEM || err == -EINVAL ||
		    !(flags & PM_TOPOLOGY_MAY_SPLIT))
			return err;
	}
	return set->opts.period > 0 || set->opts.frequency > 0 ? pm_sampled_open(set, diag) :
		pm_last_open(set, diag);
}

int pm_topology_open(hwloc_topology_t topology, const struct pm_event_spec *specs, size_t count,
		     const struct pm_topology_opts *opts, struct pm_diag *diag,
		     struct pm_topology **ret)
{
	struct pm_topology *set;
	int err = specs == NULL || count == 0 || count > EVENTS_MAX ||
		specs->size < sizeof(specs->size) || specs->size > 4096 ? -EINVAL :
		pm_topology_make(topology, count, opts, &set);

	if (err < 0)
		return pm_topology_refuse(diag, err, "topology: 1 to 32 events with a size are "
					  "needed, and a topology that is loaded");
	err = take_specs(set, specs, count);
	if (err < 0)
		(void)pm_topology_refuse(diag, err, "topology: all events need the same tid, and "
					 "no period, frequency or want");
	if (err == 0)
		err = open_source(set, diag);
	if (err < 0) {
		pm_topology_destroy(set);
		return err;
	}
	*ret = set;
	return (int)set->source->kind;
}

static int no_start(struct pm_topology *set, struct pm_diag *diag)
{
	(void)set;
	(void)diag;
	return 0;
}

static int no_take(struct pm_topology *set)
{
	(void)set;
	return 0;
}

static const struct source parts = {
	.kind = PM_TOPOLOGY_PARTS, .start = no_start, .take = no_take, .stop = no_take,
};

int pm_topology_open_parts(hwloc_topology_t topology, const char *const *names, size_t count,
			   const struct pm_topology_opts *opts, struct pm_topology **ret)
{
	struct pm_topology *set;
	int err = pm_topology_make(topology, count, opts, &set);

	if (err < 0)
		return err;
	for (size_t i = 0; i < count && err == 0; i++) {
		if (names[i] == NULL || strlen(names[i]) >= NAME_BYTES)
			err = -EINVAL;
		else
			strcpy(set->names[i], names[i]);
	}
	if (err < 0) {
		pm_topology_destroy(set);
		return err;
	}
	set->source = &parts;
	set->started = true;
	*ret = set;
	return PM_TOPOLOGY_PARTS;
}

void pm_topology_destroy(struct pm_topology *set)
{
	if (set == NULL)
		return;
	if (set->source != NULL && set->source->close != NULL)
		set->source->close(set);
	pm_where_end(&set->where);
	pm_counters_destroy(set->counters);
	pm_session_destroy(set->session);
	pm_plan_destroy(set->plan);
	free(set->parts);
	pm_topology_free_readings(set);
	free(set);
}

/* ------------------------------------------------------------------------------------- counting */

int pm_topology_start(struct pm_topology *set, struct pm_diag *diag)
{
	int err = set->started && set->source != &parts ? -EALREADY : 0;

	if (err < 0)
		return pm_topology_refuse(diag, err, "topology: it counts already");
	err = set->source->start(set, diag);
	if (err == 0)
		err = set->source->take(set);
	if (err == 0)
		err = pm_topology_rebase(set);
	if (err < 0)
		return err;
	if (set->rows > 0)
		memset(set->kept.list, 0, set->rows * set->events * sizeof(*set->kept.list));
	set->started = true;
	return 0;
}

static int read_now(struct pm_topology *set, bool fold, uint64_t *ret)
{
	int err = set->started ? set->source->take(set) : -ENOTCONN;

	return err < 0 ? err : pm_topology_keep(set, fold, ret);
}

int pm_topology_read(struct pm_topology *set, uint64_t *ret)
{
	return read_now(set, false, ret);
}

int pm_topology_accumulate(struct pm_topology *set, uint64_t *ret)
{
	return read_now(set, true, ret);
}

int pm_topology_stop(struct pm_topology *set, uint64_t *ret)
{
	int rows = read_now(set, false, ret), err;

	if (rows == -ENOTCONN)
		return rows;
	err = set->source->stop(set);
	set->started = false;
	return rows < 0 ? rows : err < 0 ? err : rows;
}

int pm_topology_put(struct pm_topology *set, const struct pm_part *list, size_t count,
		    uint64_t *ret)
{
	int err = set->source != &parts ? -ENOTSUP : !set->started ? -ENOTCONN :
		pm_topology_take_parts(set, list, count);

	return err < 0 ? err : pm_topology_keep(set, false, ret);
}

/* ----------------------------------------------------------------------------------- what it is */

enum pm_topology_source pm_topology_source(const struct pm_topology *set)
{
	return set->source->kind;
}

const struct pm_plan *pm_topology_plan(const struct pm_topology *set)
{
	return set->plan;
}

const char *pm_topology_event(const struct pm_topology *set, size_t index)
{
	return index < set->events ? set->names[index] : NULL;
}
