/* SPDX-License-Identifier: MIT */
/* Clock maps: from stamps to times and back, for all CPUs. clock_cpu.c knows the line of each. */
#include "clock_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../profile/facts.h"
#include "../diagnosis/diag.h"
#include "../profile/deny.h"
#include "../spec/spec.h"

PM_FACT(page_brackets, "userpage.time_conversion.brackets");
PM_FACT(page_advances, "userpage.time_conversion.advances");

static int choose_source(struct pm_clock_map *map, const struct pm_profile *profile)
{
	uint64_t unused;

	if (pm_clock_ns(map->wanted, &unused) < 0)
		return -EINVAL;
	if (map->records == map->wanted)
		return PM_CLOCK_SAME;
	if (map->records != PM_CLOCK_DEFAULT)
		return pm_clock_ns(map->records, &unused) < 0 ? -EINVAL : PM_CLOCK_READ;
	if (!pm_denies(profile, page_brackets) &&
	    !pm_denies(profile, page_advances) &&
	    pm_clock_open_page(map) == 0)
		return PM_CLOCK_PAGE;
	return PM_CLOCK_RECORDS;
}

static void make_room(unsigned int cpu, void *context)
{
	size_t *room = context;

	if (cpu >= *room)
		*room = cpu + 1;
}

/* For every number that a CPU may have: musl's sysconf(3) counts those that this thread may use. */
static size_t cpu_room(void)
{
	long configured = sysconf(_SC_NPROCESSORS_CONF);
	size_t room = configured > 0 ? (size_t)configured : 1;
	char possible[4096];

	if (pm_read_text("/sys/devices/system/cpu/possible", possible, sizeof(possible)) > 0)
		(void)pm_cpulist_each(possible, make_room, &room);
	return room;
}

static int fill(struct pm_clock_map *map, const struct pm_profile *profile, struct pm_diag *diag)
{
	int source = choose_source(map, profile);

	if (source < 0)
		return pm_diag_say(diag, EINVAL, PM_CAUSE_INPUT, "clock %d or %d is unknown here",
				   map->records, map->wanted);
	map->source = (enum pm_clock_source)source;
	map->cpu_count = 1;
	if (map->source == PM_CLOCK_RECORDS)
		map->cpu_count = cpu_room();
	map->cpus = calloc(map->cpu_count, sizeof(*map->cpus));
	if (map->cpus == NULL)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_UNKNOWN, "no memory");
	return pm_clock_map_update(map, diag);
}

int pm_clock_map_make(int records, int wanted, const struct pm_profile *profile,
		      struct pm_diag *diag, struct pm_clock_map **ret)
{
	struct pm_clock_map *map = calloc(1, sizeof(*map));
	int err;

	if (map == NULL)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_UNKNOWN, "no memory");
	map->records = records;
	map->wanted = wanted;
	map->fd = -1;
	map->pid = getpid();
	map->registers = &pm_registers;
	err = fill(map, profile, diag);
	if (err < 0) {
		pm_clock_map_destroy(map);
		return err;
	}
	*ret = map;
	return 0;
}

void pm_clock_map_destroy(struct pm_clock_map *map)
{
	if (map == NULL)
		return;
	if (map->fd >= 0) {
		/* Not copied to a forked child: what is at that address there is its own. */
		map->ring.borrowed |= map->pid != getpid();
		pm_ring_close(&map->ring);
		close(map->fd);
	}
	free(map->cpus);
	free(map);
}

int pm_clock_map_update(struct pm_clock_map *map, struct pm_diag *diag)
{
	const size_t size = map->cpu_count * sizeof(*map->cpus);
	struct clock_cpu *cpus;
	int err;

	if (map->source == PM_CLOCK_SAME)
		return 0;
	if (map->source == PM_CLOCK_PAGE && map->pid != getpid())
		return pm_diag_say(diag, ECHILD, PM_CAUSE_INPUT, "clock map: made before the fork");
	cpus = malloc(size);
	if (cpus == NULL)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_UNKNOWN, "no memory");
	memcpy(cpus, map->cpus, size);
	err = pm_clock_catch(map, cpus, diag);
	if (err >= 0)
		memcpy(map->cpus, cpus, size);
	free(cpus);
	return err;
}

/* ----------------------------------------------------------------------------------- converting */

/* The line on which all measured CPUs agree. */
static bool hull(const struct pm_clock_map *map,
		 struct pm_instant (*convert)(const struct clock_cpu *, uint64_t), uint64_t ns,
		 struct pm_instant *ret)
{
	int64_t low = INT64_MAX, high = INT64_MIN;

	for (size_t i = 0; i < map->cpu_count; i++) {
		struct pm_instant one;
		int64_t middle;

		if (map->cpus[i].points == 0)
			continue;
		one = convert(&map->cpus[i], ns);
		middle = (int64_t)(one.ns - ns);
		low = middle - (int64_t)one.error < low ? middle - (int64_t)one.error : low;
		high = middle + (int64_t)one.error > high ? middle + (int64_t)one.error : high;
	}
	if (low > high)
		return false;
	ret->error = ((uint64_t)high - (uint64_t)low + 1) / 2;
	ret->ns = ns + (uint64_t)low + ret->error;
	return true;
}

static int convert_by(const struct pm_clock_map *map, uint32_t cpu, uint64_t ns,
		      struct pm_instant (*convert)(const struct clock_cpu *, uint64_t),
		      struct pm_instant *ret)
{
	if (map->source == PM_CLOCK_SAME) {
		*ret = (struct pm_instant){ .ns = ns };
		return 0;
	}
	if (map->source != PM_CLOCK_RECORDS)
		cpu = 0;
	if (cpu == PM_CLOCK_ANY_CPU)
		return hull(map, convert, ns, ret) ? 0 : -ENOENT;
	if (cpu >= map->cpu_count || map->cpus[cpu].points == 0)
		return -ENOENT;
	*ret = convert(&map->cpus[cpu], ns);
	return 0;
}

static int give_converted(const struct pm_clock_map *map, uint32_t cpu, uint64_t ns,
			  struct pm_instant (*convert)(const struct clock_cpu *, uint64_t),
			  struct pm_instant *ret)
{
	struct pm_instant instant;
	int err = convert_by(map, cpu, ns, convert, &instant);

	if (err == 0 && !pm_give(ret, &instant, sizeof(instant), sizeof(instant)))
		err = -EINVAL;
	return err;
}

int pm_clock_map_time(const struct pm_clock_map *map, uint32_t cpu, uint64_t stamp,
		      struct pm_instant *ret)
{
	return give_converted(map, cpu, stamp, pm_clock_cpu_time, ret);
}

int pm_clock_map_stamp(const struct pm_clock_map *map, uint32_t cpu, uint64_t time,
		       struct pm_instant *ret)
{
	return give_converted(map, cpu, time, pm_clock_cpu_stamp, ret);
}

int pm_clock_map_state(const struct pm_clock_map *map, uint32_t cpu, struct pm_clock_state *ret)
{
	struct pm_clock_state state = { .size = ret->size, .source = map->source };
	const struct clock_cpu *known;
	double slack;

	if (map->source == PM_CLOCK_PAGE || map->source == PM_CLOCK_READ)
		cpu = 0;
	if (map->source != PM_CLOCK_SAME) {
		if (cpu >= map->cpu_count || map->cpus[cpu].points == 0)
			return -ENOENT;
		known = &map->cpus[cpu];
		state.offset = (int64_t)(known->last.time - known->last.stamp);
		state.half_width = known->last.half_width;
		state.measured = known->last.stamp;
		state.drift = pm_clock_cpu_drift(known, &slack);
		state.drift_known = known->points == 2;
		state.jumps = known->jumps;
	}
	memcpy(ret, &state, ret->size < sizeof(state) ? ret->size : sizeof(state));
	return 0;
}
