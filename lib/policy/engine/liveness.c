/* SPDX-License-Identifier: MIT */
/* The time of an event on a CPU, asked for again and again. */
#include "liveness.h"

#include <errno.h>
#include <unistd.h>

#include "../../pm_sys.h"

#define LIVENESS_NS 100000000	/* longer than the tick of any clock */

static int open_own(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED, .exclude_kernel = 1,
	};

	return pm_open(&attr, -1, cpu, -1, 0);
}

bool pm_liveness_lost(struct cpu_liveness *liveness, int cpu, int fd, uint64_t read_format,
		      uint64_t now)
{
	const uint64_t before = liveness->enabled;
	struct pm_counts counts;
	int err;

	if (now - liveness->asked_at < LIVENESS_NS)
		return false;
	if (fd < 0) {
		if (liveness->own <= 0)
			liveness->own = open_own(cpu);
		fd = liveness->own;
		read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	}
	err = fd < 0 ? fd : pm_read_counts(fd, read_format, &counts);
	if (err < 0)
		return err == -ENODATA;
	liveness->enabled = counts.time_enabled;
	liveness->asked_at = now;
	return before != 0 && counts.time_enabled == before;
}

void pm_liveness_stop(struct cpu_liveness *liveness)
{
	if (liveness->own > 0)
		close(liveness->own);
	*liveness = (struct cpu_liveness){ .own = 0 };
}
