/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a ring stay whole when an interrupt writes a record while another is being written? Timers
 * and NMIs sample in the middle of the output of a page fault; the kernel nests them.
 * Observed with page faults and a fast event into one ring: everything parses, every record has
 * the id of one of the two, and no fault is missing.
 */
#include "probe.h"
#include "core_pmu.h"
#include "ticker.h"

PROBE(TITLE("records written while another is being written")
      SINCE("2.6.35")
      POINT(timer.ring_stays_whole, "timer samples and page faults share a ring without damage")
      POINT(nmi.ring_stays_whole, "samples of a hardware counter and page faults share a ring "
	    "without damage")
      NEEDS("pmu"))

#define MOST_ROUNDS 2000
#define ROUNDS 10
#define FAULTS 50

FIXTURE(ring)
{
	struct sampler faults;
	int fast;
	uint64_t ids[2];
};

FIXTURE_VARIANT(ring)
{
	uint32_t type;
	uint64_t config, period;
};

FIXTURE_VARIANT_ADD(ring, timer)
{
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.period = 20000,
};

FIXTURE_VARIANT_ADD(ring, nmi)
{
	.type = PERF_TYPE_HARDWARE,
	.config = PERF_COUNT_HW_CPU_CYCLES,
	.period = 20032,
};

FIXTURE_SETUP(ring)
{
	const uint64_t sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ID;
	struct perf_event_attr attr = attr_faults(sample_type), fast;

	require(REQUIRE_PERF);
	if (variant->type == PERF_TYPE_HARDWARE)
		must_have_counters();
	fast = variant->type == PERF_TYPE_HARDWARE ? attr_core(variant->config) :
		attr_of(variant->type, variant->config);
	fast.sample_period = variant->period;
	fast.sample_type = sample_type;
	fast.read_format = attr.read_format = PERF_FORMAT_ID;
	fast.sample_id_all = attr.sample_id_all = 1;
	self->faults = must_sampler(&attr, 0, -1, 16);
	self->fast = must_open(&fast, 0, -1, -1, 0);
	must_ioctl(self->fast, PERF_EVENT_IOC_SET_OUTPUT, self->faults.fd);
	self->ids[0] = must_counts(self->faults.fd, PERF_FORMAT_ID).member[0].id;
	self->ids[1] = must_counts(self->fast, PERF_FORMAT_ID).member[0].id;
}

FIXTURE_TEARDOWN(ring)
{
	close(self->fast);
}

TEST_F(ring, ring_stays_whole)
{
	uint64_t found[2] = { 0 }, lost = 0;
	struct pm_record record;
	struct pm_counts counts;
	struct ticker ticker;

	must_tick(&ticker, 10);
	must_ioctl(self->fast, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(self->faults.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int round = 0; round < ROUNDS || (!found[1] && round < MOST_ROUNDS &&
					       ticker_count(&ticker) < 20); round++) {
		ASSERT_EQ(0, cause_faults(FAULTS));
		while (find_record(&self->faults, 0, &record)) {
			const uint64_t id = record.type == PERF_RECORD_SAMPLE ?
					    record.sample.sid.id : record.sid.id;

			lost += record.type == PERF_RECORD_LOST ? record.lost.lost : 0;
			if (id != self->ids[0] && id != self->ids[1])
				say_broken("record type=%u of nobody: id=%" PRIu64, record.type,
					   id);
			if (record.type == PERF_RECORD_SAMPLE)
				found[id == self->ids[1]]++;
			else if (record.type > PERF_RECORD_SAMPLE)
				say_broken("unexpected record type=%u", record.type);
		}
	}
	must_ioctl(self->faults.fd, PERF_EVENT_IOC_DISABLE, 0);
	counts = must_counts(self->faults.fd, PERF_FORMAT_ID);
	while (find_record(&self->faults, PERF_RECORD_SAMPLE, &record))
		found[record.sample.sid.id == self->ids[1]]++;
	if (!found[0] || found[0] > counts.member[0].value ||
	    found[0] + lost < counts.member[0].value)
		say_broken("fast=%" PRIu64 " faults=%" PRIu64 " counted=%" PRIu64 " lost=%" PRIu64,
			   found[1], found[0], counts.member[0].value, lost);
	/* Whether it samples at all is another probe's question. */
	if (!found[1] && variant->type == PERF_TYPE_HARDWARE)
		must_have_run();
	if (!found[1])
		say_unknown("no sample of the fast event beside %" PRIu64 " faults, so nothing "
			    "nested; another timer interrupted %u times", found[0],
			    ticker_count(&ticker));
}

PROBE_MAIN
