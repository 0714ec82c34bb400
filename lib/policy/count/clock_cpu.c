/* SPDX-License-Identifier: MIT */
/*
 * The clock of one CPU. It has two points, each an instant of both clocks with a half-width; the
 * line through them is the estimate, and the distance to the nearer one widens the error.
 */
#include "clock_cpu.h"

#include <errno.h>
#include <stdlib.h>

#define SPAN_LEAST 10000000	/* ns between two points, for their slope to mean something */
#define WANDER 20e-6		/* how much a known drift may change */
#define SLEW_MOST 600e-6	/* how far an unknown drift may be from 0 */

/* ------------------------------------------------------------------------------------- the line */

static int64_t distance(uint64_t from, uint64_t to)
{
	return (int64_t)(to - from);
}

static int64_t offset_of(const struct clock_point *point)
{
	return distance(point->stamp, point->time);
}

double pm_clock_cpu_drift(const struct clock_cpu *cpu, double *slack)
{
	double span;

	*slack = SLEW_MOST;
	if (cpu->points < 2)
		return 0;
	span = (double)distance(cpu->first.stamp, cpu->last.stamp);
	*slack = WANDER + (double)(cpu->first.half_width + cpu->last.half_width) / span;
	return (double)(offset_of(&cpu->last) - offset_of(&cpu->first)) / span;
}

static int64_t rounded(double ns)
{
	return (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

/* The offset by which a stamp is moved, and how far the truth may be from it. */
static int64_t offset_at(const struct clock_cpu *cpu, uint64_t stamp, uint64_t *error)
{
	const struct clock_point *nearest = &cpu->last;
	double slack, drift = pm_clock_cpu_drift(cpu, &slack), far;

	if (cpu->points == 2 && llabs(distance(cpu->first.stamp, stamp)) <
				llabs(distance(cpu->last.stamp, stamp)))
		nearest = &cpu->first;
	far = (double)distance(nearest->stamp, stamp);
	/* The rounding of the product and of the half-width are the last nanosecond. */
	*error = nearest->half_width + (uint64_t)((far < 0 ? -far : far) * slack) + 1;
	return offset_of(nearest) + rounded(far * drift);
}

struct pm_instant pm_clock_cpu_time(const struct clock_cpu *cpu, uint64_t stamp)
{
	struct pm_instant instant;

	instant.ns = stamp + (uint64_t)offset_at(cpu, stamp, &instant.error);
	return instant;
}

/* Each step leaves the drift's share of the error before: 1e-3, 1e-6, 1e-9 of a distance. */
struct pm_instant pm_clock_cpu_stamp(const struct clock_cpu *cpu, uint64_t time)
{
	struct pm_instant instant = { .ns = time - (uint64_t)offset_of(&cpu->last) };

	for (int i = 0; i < 3; i++)
		instant.ns = time - (uint64_t)offset_at(cpu, instant.ns, &instant.error);
	instant.error += instant.error / 512 + 1;
	return instant;
}

/* ------------------------------------------------------------------------------------- learning */

static bool contradicts(const struct clock_cpu *cpu, const struct clock_point *point)
{
	struct pm_instant expected = pm_clock_cpu_time(cpu, point->stamp);

	return (uint64_t)llabs(distance(expected.ns, point->time)) >
		expected.error + point->half_width;
}

static bool tightest(const struct pm_clock_bracket *caught, size_t count, struct clock_point *ret)
{
	const struct pm_clock_bracket *best = NULL;
	struct pm_clock_offset offset;

	for (size_t i = 0; i < count; i++)
		if (caught[i].after >= caught[i].before &&
		    (best == NULL ||
		     caught[i].after - caught[i].before < best->after - best->before))
			best = &caught[i];
	if (best == NULL || pm_clock_offset(best, 1, &offset) < 0)
		return false;
	*ret = (struct clock_point){ best->at, best->at - (uint64_t)offset.offset,
				     offset.half_width };
	return true;
}

int pm_clock_learn(struct clock_cpu *cpu, const struct pm_clock_bracket *caught, size_t count)
{
	struct clock_point point;

	if (!tightest(caught, count, &point))
		return -EAGAIN;
	if (cpu->points > 0 && contradicts(cpu, &point)) {
		cpu->last = point;
		cpu->points = 1;
		cpu->jumps++;
		return 1;
	}
	if (cpu->points > 0 && distance(cpu->last.stamp, point.stamp) < SPAN_LEAST) {
		/* They are too near for a slope: the better of the two is kept. */
		if (point.half_width < cpu->last.half_width &&
		    (cpu->points < 2 || distance(cpu->first.stamp, point.stamp) >= SPAN_LEAST))
			cpu->last = point;
		return 0;
	}
	if (cpu->points > 0) {
		cpu->first = cpu->last;
		cpu->points = 2;
	} else {
		cpu->points = 1;
	}
	cpu->last = point;
	return 0;
}
