/* SPDX-License-Identifier: MIT */
/* What a spec asks for, whoever is to do it. */
#include "spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_ALL ((unsigned int)(PM_SPEC_USER_ONLY | PM_SPEC_EXACT | PM_SPEC_PINNED | \
				  PM_SPEC_PRECISE | PM_SPEC_NO_USER | PM_SPEC_NO_KERNEL | \
				  PM_SPEC_NO_HYPERVISOR | PM_SPEC_NO_IDLE | PM_SPEC_NO_HOST | \
				  PM_SPEC_NO_GUEST | PM_SPEC_EXCLUSIVE | PM_SPEC_PRECISE_1 | \
				  PM_SPEC_PRECISE_2))
#define WANTS_ALL ((unsigned int)(PM_WANT_ADDRESS | PM_WANT_CALLCHAIN | PM_WANT_CPU | \
				  PM_WANT_RAW | PM_WANT_KERNEL_FRAMES | PM_WANT_BRANCHES | \
				  PM_WANT_GROUP))

bool pm_take(void *to, size_t have, const void *from, size_t least)
{
	const unsigned char *bytes = from;
	size_t size;

	memcpy(&size, from, sizeof(size));
	if (size < least || size > SIZE_MOST)
		return false;
	for (size_t i = have; i < size; i++)
		if (bytes[i] != 0)
			return false;
	memset(to, 0, have);
	memcpy(to, from, size < have ? size : have);
	return true;
}

static size_t size_of(const void *structure)
{
	size_t size;

	memcpy(&size, structure, sizeof(size));
	return size;
}

bool pm_give(void *to, const void *from, size_t have, size_t least)
{
	const size_t size = size_of(to);

	if (size < least || size > SIZE_MOST)
		return false;
	memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size),
	       (size < have ? size : have) - sizeof(size));
	return true;
}

void *pm_element(void *array, size_t index)
{
	return (char *)array + index * size_of(array);
}

void pm_give_element(void *array, size_t index, const void *from, size_t have)
{
	const size_t size = size_of(array);
	void *to = pm_element(array, index);

	memcpy(to, &size, sizeof(size));
	(void)pm_give(to, from, have, have);
}

int pm_make_room(void *list, size_t count, size_t *room, size_t size)
{
	const size_t more = *room ? 2 * *room : 16;
	void *array;

	if (count < *room)
		return 0;
	memcpy(&array, list, sizeof(array));
	array = realloc(array, more * size);
	if (array == NULL)
		return -ENOMEM;
	memcpy(list, &array, sizeof(array));
	*room = more;
	return 0;
}

/* Nothing happens in no mode, and nowhere. */
static bool can_happen(const struct pm_event_spec *spec)
{
	const struct perf_event_attr attr = pm_spec_attr(spec, false);

	return !(attr.exclude_user && attr.exclude_kernel && attr.exclude_hv) &&
		!(attr.exclude_host && attr.exclude_guest);
}

bool pm_spec_take(const struct pm_event_spec *specs, size_t index, struct pm_event_spec *ret)
{
	const char *at = (const char *)specs + index * specs->size;

	return specs->size >= sizeof(size_t) &&
		pm_take(ret, sizeof(*ret), at, offsetof(struct pm_event_spec, filter)) &&
		!(ret->flags & ~FLAGS_ALL) && !(ret->want & ~WANTS_ALL) && can_happen(ret);
}

bool pm_is_time(const struct pm_event_spec *spec)
{
	if (spec->flags & PM_SPEC_NO_USER)
		return false;
	if (spec->type == PERF_TYPE_SOFTWARE)
		return spec->config == PERF_COUNT_SW_CPU_CLOCK ||
			spec->config == PERF_COUNT_SW_TASK_CLOCK;
	return spec->type == PERF_TYPE_HARDWARE && spec->config == PERF_COUNT_HW_CPU_CYCLES;
}

bool pm_is_hardware(uint32_t type)
{
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
}

bool pm_takes_no_turns(uint32_t type)
{
	return type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_TRACEPOINT ||
		type == PERF_TYPE_BREAKPOINT;
}

bool pm_happens_in_kernel(const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_TRACEPOINT ||
		(spec->type == PERF_TYPE_SOFTWARE &&
		 (spec->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		  spec->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		  spec->config == PERF_COUNT_SW_CGROUP_SWITCHES));
}

unsigned int pm_spec_precise(const struct pm_event_spec *spec)
{
	return spec->flags & PM_SPEC_PRECISE ? 3 : spec->flags & PM_SPEC_PRECISE_2 ? 2 :
		spec->flags & PM_SPEC_PRECISE_1 ? 1 : 0;
}

struct perf_event_attr pm_spec_attr(const struct pm_event_spec *spec, bool user_only)
{
	struct perf_event_attr attr = {
		.type = spec->type, .config = spec->config, .config1 = spec->config1,
		.config2 = spec->config2,
	};

	attr.exclude_kernel = attr.exclude_hv = user_only || (spec->flags & PM_SPEC_USER_ONLY);
	attr.exclude_kernel |= !!(spec->flags & PM_SPEC_NO_KERNEL);
	attr.exclude_hv |= !!(spec->flags & PM_SPEC_NO_HYPERVISOR);
	attr.exclude_user = !!(spec->flags & PM_SPEC_NO_USER);
	attr.exclude_idle = !!(spec->flags & PM_SPEC_NO_IDLE);
	attr.exclude_host = !!(spec->flags & PM_SPEC_NO_HOST);
	attr.exclude_guest = !!(spec->flags & PM_SPEC_NO_GUEST);
	if (spec->type == PERF_TYPE_BREAKPOINT) {
		attr.config = 0;
		attr.bp_type = (uint32_t)spec->config;
	}
	return attr;
}

bool pm_spec_opens(const struct pm_event_spec *spec, const struct perf_event_attr *attr, int cpu)
{
	const bool of_cpu = spec->tid < PM_ALL_THREADS;		/* PM_SYSTEM, PM_CGROUP */

	return pm_open_try(attr, of_cpu ? -1 : spec->tid < 0 ? 0 : spec->tid,
			   of_cpu && cpu < 0 ? 0 : cpu) == 0;
}

bool pm_is_page_fault(const struct pm_event_spec *spec)
{
	return spec->type == PERF_TYPE_SOFTWARE && !(spec->flags & PM_SPEC_NO_USER) &&
		(spec->config == PERF_COUNT_SW_PAGE_FAULTS ||
		 spec->config == PERF_COUNT_SW_PAGE_FAULTS_MIN);
}

bool pm_is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
		(attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		 attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool pm_period_is_told(const struct perf_event_attr *attr)
{
	return attr->freq || attr->sample_period <= 1 || pm_is_clock(attr) ||
		pm_is_hardware(attr->type);
}
