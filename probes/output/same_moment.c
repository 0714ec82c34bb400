/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * If one page fault is a sample of two events, does each record carry its own event's id? Kernels
 * that prepare the sample once and keep what is filled in (since about v6.2) give the second
 * record the id of the first: a reader then books samples on the wrong event.
 * Observed in two rings and in a shared one, against each event's id as read(2) tells it.
 */
#include "probe.h"

PROBE(TITLE("ids of two events that sample at the same moment")
      SINCE("2.6.33")
      POINT(own_rings.own_id, "in two rings, each record has the id of the ring's own event")
      POINT(shared_ring.own_id, "in one ring, there are as many records of one id as of the other")
      POINT(apart.own_id, "events that sample one after the other: each record has its id"))

#define FAULTS 6

FIXTURE(pair)
{
	struct watch watch[2];
	uint64_t ids[2];
};

FIXTURE_VARIANT(pair)
{
	bool shared, at_once;
};

FIXTURE_VARIANT_ADD(pair, own_rings)
{
	.at_once = true,
};

FIXTURE_VARIANT_ADD(pair, shared_ring)
{
	.at_once = true,
	.shared = true,
};

FIXTURE_VARIANT_ADD(pair, apart)
{
	.shared = true,
};

FIXTURE_SETUP(pair)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_ID);
	struct pm_counts counts;

	attr.read_format = PERF_FORMAT_ID;
	self->watch[0] = must_watch(&attr, 0, -1, 1);
	if (variant->shared) {
		self->watch[1] = self->watch[0];
		self->watch[1].fd = must_open(&attr, 0, -1, -1, 0);
		must_ioctl(self->watch[1].fd, PERF_EVENT_IOC_SET_OUTPUT, self->watch[0].fd);
	} else {
		self->watch[1] = must_watch(&attr, 0, -1, 1);
	}
	for (int i = 0; i < 2; i++) {
		if (pm_read_counts(self->watch[i].fd, attr.read_format, &counts))
			cannot_tell("an event's id cannot be read");
		self->ids[i] = counts.member[0].id;
	}
}

FIXTURE_TEARDOWN(pair)
{
	close(self->watch[1].fd);
}

TEST_F(pair, own_id)
{
	uint64_t own[2] = { 0 }, all = 0;
	struct pm_record record;

	ASSERT_EQ(0, cause_faults(1));
	for (int i = 0; i < 2; i++) {
		must_ioctl(self->watch[i].fd, PERF_EVENT_IOC_ENABLE, 0);
		if (variant->at_once)
			continue;
		ASSERT_EQ(0, cause_faults(FAULTS));
		must_ioctl(self->watch[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	if (variant->at_once)
		ASSERT_EQ(0, cause_faults(FAULTS));
	for (int i = 0; i < 2; i++)
		must_ioctl(self->watch[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	for (int ring = 0; ring < (variant->shared ? 1 : 2); ring++)
		while (seek(&self->watch[ring], PERF_RECORD_SAMPLE, &record)) {
			all++;
			for (int i = 0; i < 2; i++)
				own[i] += record.sample.sid.id == self->ids[i] &&
					  (variant->shared || i == ring);
		}
	if (own[0] < FAULTS || own[1] < FAULTS || all != own[0] + own[1])
		broken("records=%" PRIu64 " own ids: %" PRIu64 " of the first event, %" PRIu64
		       " of the second, want>=%d each", all, own[0], own[1], FAULTS);
}

PROBE_MAIN
