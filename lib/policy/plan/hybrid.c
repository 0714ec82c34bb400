/* SPDX-License-Identifier: MIT */
/*
 * Machines whose cores differ (big.LITTLE, P and E cores). Each kind has a PMU with a file "cpus"
 * in sysfs. A generic event whose config names no PMU in its upper half goes to one of them and
 * counts nothing elsewhere. Linux commit 55bcf6ef314a ("perf: Extend PERF_TYPE_HARDWARE and
 * PERF_TYPE_HW_CACHE") (v5.13) brought the upper half.
 */
#include "hybrid.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"

#define KINDS_MAX 8
#define PMU_DIR "/sys/bus/event_source/devices"

struct kinds {
	struct kind {
		char name[HYBRID_NAME];
		uint32_t type;
		unsigned char on[HYBRID_CPUS / 8];
	} list[KINDS_MAX];
	size_t count;
};

static void mark_cpu(unsigned int cpu, void *context)
{
	struct kind *kind = context;

	if (cpu < HYBRID_CPUS)
		kind->on[cpu / 8] |= (unsigned char)(1u << cpu % 8);
}

/* Uncore PMUs have "cpumask" instead. */
static int add_kind(const char *name, void *context)
{
	struct kinds *kinds = context;
	struct kind *kind = &kinds->list[kinds->count];
	const int type = pm_pmu_type(name);
	char path[PATH_MAX], cpus[1024];

	if (kinds->count == KINDS_MAX || type <= 0 || strlen(name) >= sizeof(kind->name))
		return 0;
	snprintf(path, sizeof(path), PMU_DIR "/%s/cpus", name);
	memset(kind, 0, sizeof(*kind));
	if (pm_read_text(path, cpus, sizeof(cpus)) <= 0 ||
	    pm_cpulist_each(cpus, mark_cpu, kind) <= 0)
		return 0;
	strcpy(kind->name, name);
	kind->type = (uint32_t)type;
	kinds->count++;
	return 0;
}

static int by_type(const void *a, const void *b)
{
	const struct kind *one = a, *other = b;

	return (one->type > other->type) - (one->type < other->type);
}

static bool is_bare(const struct pm_event_spec *spec)
{
	return (spec->type == PERF_TYPE_HARDWARE || spec->type == PERF_TYPE_HW_CACHE) &&
		spec->config >> 32 == 0;
}

static uint64_t config_of(const struct pm_event_spec *spec, const struct kind *kind)
{
	return (uint64_t)kind->type << 32 | spec->config;
}

/* Privilege is not the question, so user mode of this thread alone is asked for. */
static int opens(const struct pm_event_spec *spec, const struct kind *kind)
{
	struct perf_event_attr attr = pm_spec_attr(spec, true);

	attr.config = config_of(spec, kind);
	attr.disabled = 1;
	return pm_open_try(&attr, 0, -1);
}

/* Whether each kind takes it; else says what is wrong. */
static bool is_taken(struct plan_event *event, const struct kinds *kinds)
{
	for (size_t i = 0; i < kinds->count; i++) {
		int err = opens(&event->spec, &kinds->list[i]);

		if (err == 0)
			continue;
		snprintf(event->hybrid, sizeof(event->hybrid), "one of %zu kinds of cores only: it "
			 "does not open on %s (%s)", kinds->count, kinds->list[i].name,
			 pm_errno_name(-err));
		return false;
	}
	return true;
}

/* The event at `at` becomes one of each kind; those behind it move up. */
static void expand(struct pm_plan *plan, size_t at, const struct kinds *kinds)
{
	const size_t more = kinds->count - 1;
	struct plan_event *event = &plan->events[at];

	memmove(event + 1 + more, event + 1, (plan->count - at - 1) * sizeof(*event));
	for (size_t i = 1; i <= more; i++)
		event[i] = *event;
	for (size_t i = 0; i <= more; i++) {
		const struct kind *kind = &kinds->list[i];

		event[i].spec.config = config_of(&event[i].spec, kind);
		memcpy(event[i].pmu, kind->name, sizeof(kind->name));
		memcpy(event[i].on, kind->on, sizeof(kind->on));
		snprintf(event[i].hybrid, sizeof(event[i].hybrid), "on the cores of %s; what it "
			 "counts on %zu kinds of cores is added", kind->name, kinds->count);
	}
	plan->count += more;
}

/* A bare event becomes one of each kind where that can be. Returns how many it is now. */
static size_t try_kinds(struct pm_plan *plan, size_t at, const struct kinds *kinds)
{
	struct plan_event *event = &plan->events[at];

	if (!is_bare(&event->spec) || !is_taken(event, kinds))
		return 1;
	if (plan->count + kinds->count - 1 > PLAN_EVENTS_MAX) {
		snprintf(event->hybrid, sizeof(event->hybrid), "one of %zu kinds of cores only: "
			 "there are too many events", kinds->count);
		return 1;
	}
	expand(plan, at, kinds);
	return kinds->count;
}

static bool has_bare(const struct pm_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (is_bare(&plan->events[i].spec))
			return true;
	return false;
}

void pm_hybrid_expand(struct pm_plan *plan)
{
	struct kinds *kinds = has_bare(plan) ? calloc(1, sizeof(*kinds)) : NULL;

	if (kinds != NULL && pm_pmu_each(add_kind, kinds) == 0 && kinds->count > 1) {
		qsort(kinds->list, kinds->count, sizeof(kinds->list[0]), by_type);
		for (size_t i = 0; i < plan->count;)
			i += try_kinds(plan, i, kinds);
	}
	/* Events may have moved, and their filters with them. */
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.filter != NULL)
			plan->events[i].spec.filter = plan->events[i].filter;
	free(kinds);
}

int pm_hybrid_first(const struct pm_plan *plan, const struct plan_event *event)
{
	struct pm_cpus cpus;
	int cpu = 0;

	if (pm_cpus_list(plan->cpus, NULL, &cpus) < 0)
		return 0;
	cpu = cpus.list[0];
	for (size_t i = cpus.count; i-- > 0;)
		if (pm_plan_is_on(event, cpus.list[i]))
			cpu = cpus.list[i];
	free(cpus.list);
	return cpu;
}
