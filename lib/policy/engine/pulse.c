/* SPDX-License-Identifier: MIT */
/* The time of an event on a CPU, asked for again and again. */
#include "pulse.h"

#include <errno.h>
#include <unistd.h>

#include "../../pm_sys.h"

#define PULSE_NS 100000000	/* longer than the tick of any clock */

static int open_own(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED, .exclude_kernel = 1,
	};

	return pm_open(&attr, -1, cpu, -1, 0);
}

bool pm_pulse_stands(struct cpu_pulse *pulse, int cpu, int fd, uint64_t read_format, uint64_t now)
{
	const uint64_t before = pulse->enabled;
	struct pm_counts counts;
	int err;

	if (now - pulse->asked_at < PULSE_NS)
		return false;
	if (fd < 0) {
		if (pulse->own <= 0)
			pulse->own = open_own(cpu);
		fd = pulse->own;
		read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	}
	err = fd < 0 ? fd : pm_read_counts(fd, read_format, &counts);
	if (err < 0)
		return err == -ENODATA;
	pulse->enabled = counts.time_enabled;
	pulse->asked_at = now;
	return before != 0 && counts.time_enabled == before;
}

void pm_pulse_stop(struct cpu_pulse *pulse)
{
	if (pulse->own > 0)
		close(pulse->own);
	*pulse = (struct cpu_pulse){ .own = 0 };
}
