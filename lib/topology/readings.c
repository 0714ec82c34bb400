/* SPDX-License-Identifier: MIT */
/* The readings of a set: tables of tallies that only grow, and a circle of copies of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "topology.h"

/* Makes room for `rows`; new ones are 0. */
static int grow(struct tallies *tallies, size_t rows, size_t events)
{
	struct tally *list;

	if (rows <= tallies->rows)
		return 0;
	list = realloc(tallies->list, rows * events * sizeof(*list));
	if (list == NULL)
		return -ENOMEM;
	memset(list + tallies->rows * events, 0,
	       (rows - tallies->rows) * events * sizeof(*list));
	tallies->list = list;
	tallies->rows = rows;
	return 0;
}

static int copy(struct tallies *to, const struct tallies *from, size_t rows, size_t events)
{
	int err = grow(to, rows, events);

	if (err == 0 && rows > 0)
		memcpy(to->list, from->list, rows * events * sizeof(*to->list));
	return err;
}

static void empty(struct tallies *tallies)
{
	free(tallies->list);
	memset(tallies, 0, sizeof(*tallies));
}

static int add_row(struct pm_topology *set, int cpu)
{
	int *cpus = realloc(set->cpus, (set->rows + 1) * sizeof(*cpus));

	if (cpus == NULL)
		return -ENOMEM;
	set->cpus = cpus;
	if (grow(&set->total, set->rows + 1, set->events) < 0 ||
	    grow(&set->base, set->rows + 1, set->events) < 0 ||
	    grow(&set->kept, set->rows + 1, set->events) < 0 ||
	    grow(&set->before, set->rows + 1, set->events) < 0)
		return -ENOMEM;
	cpus[set->rows++] = cpu;
	set->row_of[1 + cpu] = (int)set->rows;
	return 0;
}

static int row_of(struct pm_topology *set, int cpu)
{
	int err;

	if (cpu < -1 || cpu >= CPUS_MAX)
		return -E2BIG;
	if (set->row_of[1 + cpu] == 0) {
		err = add_row(set, cpu);
		if (err < 0)
			return err;
	}
	return set->row_of[1 + cpu] - 1;
}

struct tally *pm_topology_tally(struct pm_topology *set, int cpu, size_t event)
{
	int row = row_of(set, cpu);

	return row < 0 ? NULL : &set->total.list[(size_t)row * set->events + event];
}

/* ---------------------------------------------------------------------------------------- parts */

static uint64_t beyond(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* The parts by row and event; checked first, so that a bad one changes nothing. */
static int sum_parts(struct pm_topology *set, const struct pm_part *parts, size_t count,
		     struct tallies *ret)
{
	for (size_t i = 0; i < count; i++) {
		const struct pm_part *part =
			(const void *)((const char *)parts + i * parts->size);
		struct tally *tally;
		int row;

		if (part->event >= set->events)
			return -EINVAL;
		row = row_of(set, part->cpu < 0 ? -1 : part->cpu);
		if (row >= 0 && grow(ret, set->rows, set->events) < 0)
			row = -ENOMEM;
		if (row < 0)
			return row;
		tally = &ret->list[(size_t)row * set->events + part->event];
		tally->value += part->value;
		tally->enabled += part->enabled;
		tally->running += part->running;
	}
	return grow(ret, set->rows, set->events);
}

int pm_topology_take_parts(struct pm_topology *set, const struct pm_part *parts, size_t count)
{
	struct tallies now = { NULL, 0 };
	int err = count > 0 && (parts->size < sizeof(*parts) || parts->size > 4096) ? -EINVAL :
		sum_parts(set, parts, count, &now);

	if (err < 0) {
		empty(&now);
		return err;
	}
	for (size_t i = 0; i < now.rows * set->events; i++) {
		struct tally *total = &set->total.list[i], *before = &set->before.list[i];

		total->value += beyond(now.list[i].value, before->value);
		total->enabled += beyond(now.list[i].enabled, before->enabled);
		total->running += beyond(now.list[i].running, before->running);
	}
	empty(&set->before);
	set->before = now;
	return 0;
}

void pm_topology_forget_parts(struct pm_topology *set)
{
	if (set->before.rows > 0)
		memset(set->before.list, 0,
		       set->before.rows * set->events * sizeof(*set->before.list));
}

/* ------------------------------------------------------------------------------------- readings */

int pm_topology_rebase(struct pm_topology *set)
{
	return copy(&set->base, &set->total, set->rows, set->events);
}

static struct tally since(const struct tally *total, const struct tally *base,
			  const struct tally *kept)
{
	return (struct tally){
		.value = total->value - base->value + kept->value,
		.enabled = total->enabled - base->enabled + kept->enabled,
		.running = total->running - base->running + kept->running,
		.uncertain = total->uncertain - base->uncertain + kept->uncertain,
	};
}

/* Of one clock that is never set, and never the same twice. */
static uint64_t next_time(uint64_t last)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return ns > last ? ns : last + 1;
}

/* The place of the next reading; memory of the oldest is used again. */
static struct reading *place(struct pm_topology *set)
{
	const size_t most = set->opts.readings;

	if (set->count < most)
		return &set->readings[(set->first + set->count++) % most];
	set->first = (set->first + 1) % most;
	return &set->readings[(set->first + most - 1) % most];
}

int pm_topology_keep(struct pm_topology *set, bool fold, uint64_t *ret)
{
	static const struct tally nothing;
	struct tallies total = { NULL, 0 }, shown = { NULL, 0 };
	struct reading *reading;
	size_t cells = set->rows * set->events;

	if (copy(&total, &set->total, set->rows, set->events) < 0 ||
	    copy(&shown, &set->total, set->rows, set->events) < 0)
		goto no_memory;
	for (size_t i = 0; i < cells; i++)
		shown.list[i] = since(&total.list[i], &set->base.list[i],
				      fold ? &set->kept.list[i] : &nothing);
	if (fold && cells > 0) {
		memcpy(set->kept.list, shown.list, cells * sizeof(*shown.list));
		memcpy(set->base.list, total.list, cells * sizeof(*total.list));
	}
	reading = place(set);
	empty(&reading->total);
	empty(&reading->shown);
	set->last_time = next_time(set->last_time);
	*reading = (struct reading){ set->last_time, total, shown };
	if (ret != NULL)
		*ret = reading->time;
	return (int)set->rows;
no_memory:
	empty(&total);
	empty(&shown);
	return -ENOMEM;
}

const struct reading *pm_topology_reading(const struct pm_topology *set, size_t index)
{
	return &set->readings[(set->first + index) % set->opts.readings];
}

void pm_topology_free_readings(struct pm_topology *set)
{
	for (size_t i = 0; set->readings != NULL && i < set->opts.readings; i++) {
		empty(&set->readings[i].total);
		empty(&set->readings[i].shown);
	}
	free(set->readings);
	free(set->cpus);
	free(set->row_of);
	empty(&set->total);
	empty(&set->base);
	empty(&set->kept);
	empty(&set->before);
}
