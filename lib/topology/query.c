/* SPDX-License-Identifier: MIT */
/* What was read when, rolled up over a set of CPUs. */
#include <errno.h>
#include <string.h>

#include "topology.h"

/* How many of the readings that are kept are from before `time`, or from then. */
static size_t until(const struct pm_topology *set, uint64_t time)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pm_topology_reading(set, middle)->time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int pm_topology_times(const struct pm_topology *set, uint64_t from, uint64_t to, uint64_t *ret,
		      size_t count)
{
	size_t first = from > 0 ? until(set, from - 1) : 0, end = until(set, to);

	for (size_t i = first; i < end && i - first < count; i++)
		ret[i - first] = pm_topology_reading(set, i)->time;
	return end > first ? (int)(end - first) : 0;
}

static bool counts(const struct pm_topology *set, size_t row, hwloc_const_cpuset_t cpus)
{
	if (cpus == NULL)
		return true;
	return set->cpus[row] >= 0 && hwloc_bitmap_isset(cpus, (unsigned int)set->cpus[row]);
}

static struct tally roll_up(const struct pm_topology *set, const struct tallies *tallies,
			    size_t event, hwloc_const_cpuset_t cpus)
{
	struct tally sum = { 0, 0, 0, 0 };

	for (size_t row = 0; row < tallies->rows; row++) {
		const struct tally *tally = &tallies->list[row * set->events + event];

		if (!counts(set, row, cpus))
			continue;
		sum.value += tally->value;
		sum.enabled += tally->enabled;
		sum.running += tally->running;
		sum.uncertain += tally->uncertain;
	}
	/* Wherever it was in the machine, it was in the machine. */
	if (cpus == NULL || hwloc_bitmap_isincluded(
		hwloc_topology_get_topology_cpuset(set->topology), cpus))
		sum.uncertain = 0;
	return sum;
}

static void give(const struct tally *sum, uint64_t time, struct pm_topology_value *ret)
{
	struct pm_topology_value value = { .size = ret->size };

	value.time = time;
	value.value = sum->value;
	value.enabled = sum->enabled;
	value.running = sum->running;
	value.uncertain = sum->uncertain < sum->value ? sum->uncertain : sum->value;
	value.guess = value.uncertain > 0;
	memcpy(ret, &value, ret->size < sizeof(value) ? ret->size : sizeof(value));
}

static int check(const struct pm_topology *set, size_t event, const struct pm_topology_value *ret)
{
	return event >= set->events || ret->size < sizeof(ret->size) || ret->size > 4096 ?
		-EINVAL : 0;
}

int pm_topology_value(const struct pm_topology *set, size_t event, hwloc_const_cpuset_t cpus,
		      uint64_t time, struct pm_topology_value *ret)
{
	const struct reading *reading;
	size_t end = until(set, time);
	struct tally sum;
	int err = check(set, event, ret);

	if (err == 0 && end == 0)
		err = -ENODATA;
	if (err < 0)
		return err;
	reading = pm_topology_reading(set, end - 1);
	sum = roll_up(set, &reading->shown, event, cpus);
	give(&sum, reading->time, ret);
	return 0;
}

int pm_topology_window(const struct pm_topology *set, size_t event, hwloc_const_cpuset_t cpus,
		       uint64_t from, uint64_t to, struct pm_topology_value *ret)
{
	const size_t first = until(set, from), end = until(set, to);
	const struct reading *last;
	struct tally earlier, sum;
	int err = check(set, event, ret);

	if (err == 0 && (first == 0 || end < first))
		err = -ENODATA;
	if (err < 0)
		return err;
	last = pm_topology_reading(set, end - 1);
	earlier = roll_up(set, &pm_topology_reading(set, first - 1)->total, event, cpus);
	sum = roll_up(set, &last->total, event, cpus);
	sum.value -= earlier.value;
	sum.enabled -= earlier.enabled;
	sum.running -= earlier.running;
	sum.uncertain -= earlier.uncertain;
	give(&sum, last->time, ret);
	return 0;
}
