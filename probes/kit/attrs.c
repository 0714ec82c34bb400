/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events to open. See attrs.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attrs.h"
#include "finding.h"

static struct perf_event_attr attr_excluding(uint32_t type, uint64_t config, bool exclude)
{
	return (struct perf_event_attr){
		.type = type,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = exclude,
		.exclude_hv = exclude,
	};
}

/* A PMU that counts whatever runs says EINVAL to the wish to leave something out. */
static bool core_can_exclude(void)
{
	static int answer = -1;
	struct perf_event_attr attr;

	if (answer < 0) {
		attr = attr_excluding(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true);
		answer = try_open(&attr) != -EINVAL;
	}
	return answer;
}

struct perf_event_attr attr_of(uint32_t type, uint64_t config)
{
	const bool core = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE ||
			  type == PERF_TYPE_RAW;

	return attr_excluding(type, config, !core || core_can_exclude());
}

struct perf_event_attr attr_software(uint64_t config)
{
	return attr_of(PERF_TYPE_SOFTWARE, config);
}

struct perf_event_attr attr_counter(bool inherit)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	attr.inherit = inherit;
	return attr;
}

struct perf_event_attr attr_faults(uint64_t sample_type)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.sample_type = sample_type;
	return attr;
}

struct perf_event_attr attr_sideband(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_DUMMY);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd == -ENOENT || fd == -EINVAL)	/* before v3.12: any counter carries side-band */
		attr.config = PERF_COUNT_SW_CPU_MIGRATIONS;
	if (fd >= 0)
		close(fd);
	return attr;
}

int try_open(const struct perf_event_attr *attr)
{
	int fd = pm_open(attr, 0, -1, -1, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

