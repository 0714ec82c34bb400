/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event need its mapping? A tracer that unmaps a ring, to map a larger one, wants the
 * counter to go on.
 * Observed: exact counts through the descriptor after munmap; samples in a second mapping.
 */
#include "probe.h"

PROBE(TITLE("events after munmap")
      SINCE("2.6.33")
      POINT(descriptor_keeps, "after munmap the event counts on, and can be read")
      POINT(can_map_again, "after munmap it can be mapped again, and samples arrive"))

#define FAULTS 15

static struct watch watch_faults(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.disabled = 0;
	return must_watch(&attr, 0, -1, 4);
}

TEST(descriptor_keeps)
{
	struct watch watch = watch_faults();

	pm_ring_close(&watch.ring);
	hold_gain(watch.fd, NULL, FAULTS, FAULTS);
}

TEST(can_map_again)
{
	struct watch watch = watch_faults();
	int samples;

	pm_ring_close(&watch.ring);
	must_map(watch.fd, 8, &watch.ring);
	touch_ring(&watch.ring);
	samples = samples_of_faults(&watch, NULL, FAULTS);
	if (samples != FAULTS)
		broken("samples=%d want=%d in the second mapping", samples, FAULTS);
}

PROBE_MAIN
