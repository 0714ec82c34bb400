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
#include "internal.h"

/* Work that an event leaves out, as far as its PMU lets it. */
struct left_out {
	bool kernel, guest;
};

static struct perf_event_attr attr_without(uint32_t type, uint64_t config, struct left_out out)
{
	return (struct perf_event_attr){
		.type = type,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = out.kernel,
		.exclude_hv = out.kernel,
		.exclude_guest = out.guest,
	};
}

static bool core_takes(struct left_out out)
{
	struct perf_event_attr attr = attr_without(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
						   out);

	if (try_open(&attr) == -ENOENT)
		attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	return try_open(&attr) >= 0;
}

/*
 * A PMU that counts whatever runs refuses to leave something out, with EINVAL, EOPNOTSUPP or EPERM;
 * one that cannot count in guests wants to be told to leave them out. The first that it takes; if
 * that is none, the usual, and what is said to it then is the reason.
 */
static struct left_out core_leaves_out(void)
{
	static const struct left_out ways[] = {
		{ .kernel = true }, { .kernel = true, .guest = true }, { .guest = true }, { 0 },
	};
	static int chosen = -1;

	for (unsigned int i = 0; chosen < 0 && i < sizeof(ways) / sizeof(*ways); i++)
		if (core_takes(ways[i]))
			chosen = i;
	return ways[chosen < 0 ? 0 : chosen];
}

struct perf_event_attr attr_of(uint32_t type, uint64_t config)
{
	const bool core = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE ||
			  type == PERF_TYPE_RAW;

	return attr_without(type, config,
			    core ? core_leaves_out() : (struct left_out){ .kernel = true });
}

struct perf_event_attr attr_software(uint64_t config)
{
	if (config == PERF_COUNT_SW_PAGE_FAULTS || config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
	    config == PERF_COUNT_SW_PAGE_FAULTS_MAJ)
		expect_faults();
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

