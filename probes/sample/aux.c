/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PERF_SAMPLE_AUX copies a piece of a trace into each sample. Is it refused, with a true errno,
 * where there is no trace? A 5.4 kernel answered with descriptor 0.
 * Observed: opens only; a trace unit is needed for more.
 */
#include "probe.h"

PROBE(TITLE("trace snippets in samples")
      SINCE("5.5")
      POINT(no_trace_refused, "AUX without a group leader that traces is EINVAL"))

static struct perf_event_attr attr_plain(void)
{
	return attr_faults(PERF_SAMPLE_IP);
}

TEST(no_trace_refused)
{
	struct perf_event_attr attr = attr_plain();
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_type |= PERF_SAMPLE_AUX;
	attr.aux_sample_size = 64;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd == 0)
		broken("the open answered with descriptor 0, which is standard input");
	hold_rule(fd, EINVAL, BROKEN, "AUX without a trace");
}

PROBE_MAIN
