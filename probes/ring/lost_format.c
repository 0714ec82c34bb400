/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a counter tell how many of its records were dropped? PERF_FORMAT_LOST gives the number at
 * once, without waiting for space in the ring, and also of what a pause has dropped, of which no
 * LOST record need tell.
 * Observed by overfilling and by pausing: samples and losses together must be all that was counted.
 * Linux commit 119a784c8127 ("perf/core: Add a new read format to get a number of lost samples")
 * (v6.0)
 */
#include "probe.h"

PROBE(TITLE("the read format of lost records")
      SINCE("6.0")
      COMMIT("119a784c8127")
      POINT(is_exact, "PERF_FORMAT_LOST counts exactly the samples that are not in the ring")
      POINT(counts_pause, "PERF_FORMAT_LOST counts the samples that a paused ring drops")
      FACT(lost_of_pause_record, int, "records", "count of the LOST record after a pause, 0: none"))

#define RECORD 16
#define EXTRA 37

FIXTURE(ring)
{
	struct sampler sampler;
};

FIXTURE_SETUP(ring)
{
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TID), with = without;

	with.read_format = PERF_FORMAT_LOST;
	self->sampler = ask_sampler(&with, &without, 0, -1, 1, "PERF_FORMAT_LOST");
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&self->sampler.ring);
}

/*
 * Cause faults and hold the number against the ring, which may take no more than `room`. The kernel
 * may take a page away meanwhile, and its fault counts, too.
 */
static void compare(struct sampler *sampler, unsigned int faults, unsigned int room)
{
	struct pm_counts counts;
	uint64_t samples;

	cause_faults_on(sampler->fd, faults);
	samples = count_records(&sampler->ring, PERF_RECORD_SAMPLE);
	counts = must_counts(sampler->fd, PERF_FORMAT_LOST);
	if (counts.member[0].value < faults || samples > room ||
	    samples + counts.member[0].lost != counts.member[0].value)
		say_broken("samples=%" PRIu64 " lost=%" PRIu64 " counted=%" PRIu64
			   " want=%u, room=%u",
			   samples, counts.member[0].lost, counts.member[0].value, faults, room);
}

TEST_F(ring, is_exact)
{
	const unsigned int room = self->sampler.ring.data_size / RECORD;

	compare(&self->sampler, room + EXTRA, room);
}

TEST_F(ring, counts_pause)
{
	struct pm_record record;

	ask_ioctl(self->sampler.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "PAUSE_OUTPUT");
	compare(&self->sampler, EXTRA, 0);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	cause_faults_on(self->sampler.fd, 1);
	fact_int("lost_of_pause_record", find_record(&self->sampler, PERF_RECORD_LOST, &record) ?
		 (int64_t)record.lost.lost : 0);
}

PROBE_MAIN
