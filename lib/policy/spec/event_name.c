/* SPDX-License-Identifier: MIT */
/* Names of events: the other way than pm_event_parse. */
#include "spec.h"

#include <stdio.h>

static const char *const hardware[] = {
#define PM_HARDWARE(id, config, name, other) [config] = name,
#define PM_SOFTWARE(id, config, name, other)
#define PM_CACHE(id, number, name)
#include "../../perfmodes_event.def"
};

static const char *const software[] = {
#define PM_HARDWARE(id, config, name, other)
#define PM_SOFTWARE(id, config, name, other) [config] = name,
#define PM_CACHE(id, number, name)
#include "../../perfmodes_event.def"
};

static const char *const caches[] = {
#define PM_HARDWARE(id, config, name, other)
#define PM_SOFTWARE(id, config, name, other)
#define PM_CACHE(id, number, name) [number] = name,
#include "../../perfmodes_event.def"
};

#define MODES_SIZE 8
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "L1-dcache-load-misses"; false: no such event. */
static bool name_cache(uint64_t config, char *buf, size_t size)
{
	static const char *const done[] = { "load", "store", "prefetch" };
	const uint64_t cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16;

	if (cache >= COUNT(caches) || op > PM_CACHE_PREFETCH || result > PM_CACHE_MISS)
		return false;
	snprintf(buf, size, "%s-%s%s", caches[cache], done[op], result ? "-misses" :
		 op == PM_CACHE_PREFETCH ? "es" : "s");
	return true;
}

/* The name of a generic event; false: it is none. */
static bool name_generic(uint32_t type, uint64_t config, char *buf, size_t size)
{
	const char *name = NULL;

	if (type == PM_TYPE_CACHE)
		return name_cache(config, buf, size);
	if (type == PM_TYPE_SOFTWARE && config < COUNT(software))
		name = software[config];
	if (type == PM_TYPE_HARDWARE && config < COUNT(hardware))
		name = hardware[config];
	if (name != NULL)
		snprintf(buf, size, "%s", name);
	return name != NULL;
}

/* The modes, host and guests that are told apart, with a colon or without: ":u", ":kH". */
static const char *modes_of(const struct pm_event_spec *spec, bool colon, char *buf)
{
	const struct perf_event_attr attr = pm_spec_attr(spec, false);
	char *at = buf;

	*at++ = ':';
	if (attr.exclude_user || attr.exclude_kernel || attr.exclude_hv) {
		*at = 'u';
		at += !attr.exclude_user;
		*at = 'k';
		at += !attr.exclude_kernel;
		*at = 'h';
		at += !attr.exclude_hv;
	}
	if (attr.exclude_host || attr.exclude_guest)
		*at++ = attr.exclude_host ? 'G' : 'H';
	if (attr.exclude_idle)
		*at++ = 'I';
	*at = '\0';
	return buf[1] == '\0' || !colon ? buf + 1 : buf;
}

struct wanted_pmu {
	uint32_t type;
	char *name;
	size_t size;
};

static int look_at_pmu(const char *name, void *context)
{
	const struct wanted_pmu *wanted = context;
	const int type = pm_pmu_type(name);

	/* A type that cannot be read is -errno, which as a number is an upper half, too. */
	if (type < 0 || (uint32_t)type != wanted->type)
		return 0;
	snprintf(wanted->name, wanted->size, "%s", name);
	return 1;
}

/*
 * A generic event of one kind of cores: its PMU's type stands in the upper half of config
 * (55bcf6ef314a, v5.13), and sysfs tells what that PMU is called.
 */
static int name_of_kind(const struct pm_event_spec *spec, char *buf, size_t size)
{
	const uint32_t type = (uint32_t)(spec->config >> 32);
	char pmu[128] = "", generic[64], modes[MODES_SIZE];
	struct wanted_pmu wanted = { type, pmu, sizeof(pmu) };

	if (!name_generic(spec->type, (uint32_t)spec->config, generic, sizeof(generic)))
		return -1;
	if (pm_pmu_each(look_at_pmu, &wanted) == 1)
		return snprintf(buf, size, "%s/%s/%s", pmu, generic,
				modes_of(spec, false, modes));
	return snprintf(buf, size, "%s%s of PMU %u", generic, modes_of(spec, true, modes), type);
}

int pm_event_name(const struct pm_event_spec *spec, char *buf, size_t size)
{
	char name[64], modes[MODES_SIZE];
	int length = -1;

	if ((spec->type == PM_TYPE_HARDWARE || spec->type == PM_TYPE_CACHE) && spec->config >> 32)
		length = name_of_kind(spec, buf, size);
	if (length >= 0)
		return length;
	if (name_generic(spec->type, spec->config, name, sizeof(name)))
		return snprintf(buf, size, "%s%s", name, modes_of(spec, true, modes));
	return snprintf(buf, size, "event %u:0x%llx%s", spec->type,
			(unsigned long long)spec->config, modes_of(spec, true, modes));
}
