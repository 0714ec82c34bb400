/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a PMU's driver refuses of each of its events, whatever is asked: no answer to any question.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "finding.h"
#include "internal.h"
#include "task.h"

bool is_of_pmu(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
	       attr->type == PERF_TYPE_RAW || attr->type >= PERF_TYPE_MAX;
}

static bool is_policy(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd == -EACCES || fd == -EPERM;
}

/* A PMU that counts, and whose driver refuses to sample: EINVAL is its word for the period. */
static bool only_counts(int error, const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct perf_event_attr plain;
	int counting, sampling;

	if (error != EINVAL || !attr || !is_of_pmu(attr) || !attr->sample_period)
		return false;
	plain = (struct perf_event_attr){
		.type = attr->type, .config = attr->config, .size = attr->size, .disabled = 1,
		.exclude_kernel = attr->exclude_kernel, .exclude_hv = attr->exclude_hv,
	};
	counting = pm_open(&plain, pid, cpu, -1, 0);
	plain.sample_period = 1 << 20;
	sampling = pm_open(&plain, pid, cpu, -1, 0);
	if (sampling >= 0)
		close(sampling);
	return counting >= 0 && !close(counting) && sampling == -EINVAL;
}

/*
 * Without privileges only events without the kernel may be opened, and this PMU counts it always:
 * it refuses to leave it out of the plainest of events, too.
 */
static bool counts_kernel_always(int error, const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct perf_event_attr plain = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS, .disabled = 1,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	struct perf_event_attr whole;

	if ((error != EINVAL && error != EOPNOTSUPP) || !attr || !is_of_pmu(attr) ||
	    attr->type >= PERF_TYPE_MAX || !attr->exclude_kernel)
		return false;
	plain.size = attr->size;
	whole = *attr;
	whole.exclude_kernel = 0;
	if (!is_policy(pm_open(&whole, pid, cpu, -1, 0)))
		return false;
	for (int i = 0; i < 2; i++, plain.config = PERF_COUNT_HW_CPU_CYCLES) {
		const int fd = pm_open(&plain, pid, cpu, -1, 0);

		if (fd >= 0)
			close(fd);
		if (fd >= 0 || fd == -error)
			return fd < 0;
	}
	return false;
}

bool explain_pmu(int error, const struct perf_event_attr *attr, pid_t pid, int cpu,
		 struct finding *ret)
{
	if (only_counts(error, attr, pid, cpu))
		finding_set(ret, ABSENT, "a PMU that samples: this one counts alone (EINVAL)");
	else if (counts_kernel_always(error, attr, pid, cpu))
		finding_set(ret, ABSENT, "a PMU that can leave out the kernel: all else is refused "
			    "here");
	else
		return false;
	return true;
}
