/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do data_head and data_tail work as the protocol says? The head only grows, by exactly the bytes
 * of the records; the tail, written by us, gives space back.
 * Observed with 16-byte records of page faults, whose number is exact.
 */
#include "probe.h"

PROBE(TITLE("data_head and data_tail")
      SINCE("2.6.31")
      POINT(head_counts_bytes, "data_head grows by exactly the size of the records")
      POINT(tail_frees_space, "a full ring takes records again after data_tail has moved")
      POINT(full_ring_drops, "a full ring takes nothing more, and data_head stands still"))

#define RECORD 16			/* a header and an address */

FIXTURE(ring)
{
	volatile struct perf_event_mmap_page *page;
	struct sampler sampler;
	uint64_t room;			/* records that fit */
};

FIXTURE_SETUP(ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);

	self->sampler = must_sampler(&attr, 0, -1, 1);
	self->page = self->sampler.ring.base;
	self->room = self->sampler.ring.data_size / RECORD;
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&self->sampler.ring);
}

TEST_F(ring, head_counts_bytes)
{
	uint64_t counted = 0;

	for (unsigned int faults = 1; faults <= 8; faults++) {
		counted += cause_enabled_faults(self->sampler.fd, faults);
		if (self->page->data_head != counted * RECORD)
			say_broken("data_head=%" PRIu64 " after %" PRIu64 " records of %d bytes",
				   (uint64_t)self->page->data_head, counted, RECORD);
	}
	if (counted != 36)
		say_broken("counted=%" PRIu64 " want=36", counted);
}

TEST_F(ring, full_ring_drops)
{
	uint64_t head;

	cause_enabled_faults(self->sampler.fd, self->room + 9);
	head = self->page->data_head;
	cause_enabled_faults(self->sampler.fd, 9);
	if (head + RECORD < self->sampler.ring.data_size || head > self->sampler.ring.data_size ||
	    self->page->data_head != head)
		say_broken("data_head=%" PRIu64 " then %" PRIu64 " room=%zu", head,
			   (uint64_t)self->page->data_head, self->sampler.ring.data_size);
}

TEST_F(ring, tail_frees_space)
{
	uint64_t full;
	int found;

	cause_enabled_faults(self->sampler.fd, self->room + 9);
	full = self->page->data_head;
	found = count_records(&self->sampler.ring, PERF_RECORD_SAMPLE);
	if (found < 0 || full != (uint64_t)found * RECORD)
		say_broken("records=%d in %" PRIu64 " bytes", found, full);
	cause_enabled_faults(self->sampler.fd, self->room / 2);
	found = count_records(&self->sampler.ring, PERF_RECORD_SAMPLE);
	if (found != (int)self->room / 2)
		say_broken("after the tail moved: records=%d want=%d", found, (int)self->room / 2);
}

PROBE_MAIN
