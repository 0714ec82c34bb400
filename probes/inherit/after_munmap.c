/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event need its mapping? A tracer that unmaps a ring, to map a larger one, wants the
 * counter to go on.
 * Observed: exact counts through the descriptor after munmap; samples in a second mapping.
 */
#include "probe.h"

PROBE(TITLE("inherit events after munmap of their ring")
      SINCE("2.6.33")
      POINT(descriptor_keeps, "an event counts on and can be read after munmap of its ring")
      POINT(can_map_again, "a ring can be mapped again after munmap, and samples arrive"))

#define FAULTS 15

static struct sampler watch_faults(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.disabled = 0;
	return must_sampler(&attr, 0, -1, 4);
}

TEST(descriptor_keeps)
{
	struct sampler sampler = watch_faults();

	pm_ring_close(&sampler.ring);
	expect_gain(sampler.fd, NULL, FAULTS, FAULTS);
}

TEST(can_map_again)
{
	struct sampler sampler = watch_faults();
	int samples;

	pm_ring_close(&sampler.ring);
	must_map(sampler.fd, 8, &sampler.ring);
	samples = samples_of_faults(&sampler, NULL, FAULTS);
	if (samples != FAULTS)
		say_broken("samples=%d want=%d in the second mapping", samples, FAULTS);
}

PROBE_MAIN
