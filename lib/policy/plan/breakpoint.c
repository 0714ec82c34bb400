/* SPDX-License-Identifier: MIT */
/* A breakpoint is hit on purpose. That the event ran meanwhile tells it from one switched out. */
#include "breakpoint.h"

#include <errno.h>
#include <unistd.h>

#include "../../pm_sys.h"
#include "../diagnosis/diag.h"

#define HITS 64			/* QEMU's emulation of 32-bit Arm delivers one of ten */

static bool is_silent(void)
{
	static volatile uint32_t written __attribute__((aligned(8)));
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_W, .exclude_kernel = 1,
		.bp_addr = (uint64_t)(uintptr_t)&written, .bp_len = sizeof(written),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	struct pm_counts counts = { 0 };
	const int fd = pm_open(&attr, 0, -1, -1, 0);
	bool silent;

	if (fd < 0)
		return false;
	for (int i = 0; i < HITS; i++)
		written = (uint32_t)i;
	silent = pm_read_counts(fd, attr.read_format, &counts) == 0 && counts.nr == 1 &&
		counts.member[0].value == 0 && counts.time_running > 0 &&
		counts.time_running == counts.time_enabled;
	close(fd);
	return silent;
}

int pm_breakpoint_try(const struct pm_event_spec *spec, struct pm_diag *diag)
{
	if (spec->type != PM_TYPE_BREAKPOINT || !is_silent())
		return 0;
	return pm_diag_say(diag, EIO, PM_CAUSE_SILENCE, "breakpoints are accepted, and none fires "
			   "on this machine; a virtual machine may lack debug registers");
}
