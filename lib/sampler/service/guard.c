/* SPDX-License-Identifier: MIT */
/* Guardrails: measured once a window, judged by what was measured alone. */
#define _GNU_SOURCE
#include "guard.h"

#include <stdlib.h>
#include <string.h>

#include "../../pm_sys.h"

uint64_t guard_cpu(const struct guard_reading *reading)
{
	return reading->wall_ns == 0 ? 0 : reading->cpu_ns * 100 / reading->wall_ns;
}

/* Percent of a limit; 0 without one. */
static uint64_t used(uint64_t value, uint64_t limit)
{
	return limit == 0 ? 0 : value * 100 / limit;
}

/* The same of CPU time: a limit may be a percent or two. */
static uint64_t used_cpu(const struct guard_reading *reading, uint64_t limit)
{
	return limit == 0 || reading->wall_ns < 100 ? 0 :
		reading->cpu_ns * 100 / (reading->wall_ns / 100 * limit);
}

static enum guard_verdict over(struct guard *guard)
{
	if (guard->level < GUARD_LEVELS) {
		guard->level++;
		guard->windows = 0;
		return GUARD_MORE;
	}
	return ++guard->windows > GUARD_PATIENCE ? GUARD_STOP : GUARD_SAME;
}

/* As often as would do, if all of it went by the rate. */
static enum guard_verdict slow_down(struct guard *guard, uint64_t cpu)
{
	for (int i = 0; i < GUARD_LEAP && cpu > 100 && guard->rate < guard->rate_most; i++) {
		guard->rate++;
		cpu /= 2;
	}
	guard->windows = 0;
	return GUARD_SLOWER;
}

static enum guard_verdict recover(struct guard *guard)
{
	guard->windows = 0;
	if (guard->level > 0) {
		guard->level--;
		return GUARD_LESS;
	}
	guard->rate--;
	return GUARD_FASTER;
}

enum guard_verdict guard_judge(struct guard *guard, const struct guard_reading *reading,
			       enum guard_why *ret_why)
{
	uint64_t cpu = used_cpu(reading, guard->cpu_limit);
	uint64_t memory = used(reading->memory, guard->memory_limit);

	*ret_why = memory > 100 ? GUARD_MEMORY : cpu > 100 ? GUARD_CPU : GUARD_NOTHING;
	if (*ret_why == GUARD_CPU && guard->rate < guard->rate_most)
		return slow_down(guard, cpu);
	if (*ret_why == GUARD_MEMORY && guard->level < GUARD_LEVELS) {
		/* Less work a second frees nothing: all of it is shed at once. */
		guard->level = GUARD_LEVELS - 1;
	}
	if (*ret_why != GUARD_NOTHING)
		return over(guard);
	if (guard->level + guard->rate == 0 || cpu > 50 || memory > 90) {
		guard->windows = 0;
		return GUARD_SAME;
	}
	return ++guard->windows < GUARD_PATIENCE ? GUARD_SAME : recover(guard);
}

bool guard_admits(struct guard *guard)
{
	return (guard->counter++ & ((1ull << guard->level) - 1)) == 0;
}

static uint64_t kilobytes(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

uint64_t guard_memory(void)
{
	char text[8192];
	uint64_t anonymous;

	if (pm_read_text("/proc/self/status", text, sizeof(text)) < 0)
		return 0;
	anonymous = kilobytes(text, "\nRssAnon:");
	if (anonymous == 0)
		anonymous = kilobytes(text, "\nVmRSS:");
	return (anonymous + kilobytes(text, "\nVmSwap:")) * 1024;
}
