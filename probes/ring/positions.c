/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do data_head and data_tail work as the protocol says? The head only grows, by exactly the bytes
 * of the records; the tail, written by us, gives space back; nothing a program writes into the
 * page may confuse the kernel.
 * Observed with 16-byte records of page faults, whose number is exact.
 */
#include "probe.h"

PROBE(TITLE("data_head and data_tail")
      SINCE("2.6.31")
      POINT(head_counts_bytes, "data_head grows by exactly the size of the records")
      POINT(tail_frees_space, "a full ring takes as many records again after data_tail moved")
      POINT(full_ring_drops, "a full ring takes nothing more, and data_head stands still")
      POINT(own_head_is_kept, "garbage written over data_head is corrected by the next record")
      POINT(silly_tail_is_survived, "garbage in data_tail harms neither event nor ring")
      POINT(other_fields_are_survived, "garbage in the rest of the page harms neither"))

#define RECORD 16			/* a header and an address */

FIXTURE(ring)
{
	volatile struct perf_event_mmap_page *page;
	struct watch watch;
	uint64_t room;			/* records that fit */
};

FIXTURE_SETUP(ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);

	self->watch = must_watch(&attr, 0, -1, 1);
	self->page = self->watch.ring.base;
	self->room = self->watch.ring.data_size / RECORD;
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&self->watch.ring);
}

TEST_F(ring, head_counts_bytes)
{
	uint64_t counted = 0;

	for (unsigned int faults = 1; faults <= 8; faults++) {
		counted += sample_faults(self->watch.fd, faults);
		if (self->page->data_head != counted * RECORD)
			broken("data_head=%" PRIu64 " after %" PRIu64 " records of %d bytes",
			       (uint64_t)self->page->data_head, counted, RECORD);
	}
	if (counted != 36)
		broken("counted=%" PRIu64 " want=36", counted);
}

TEST_F(ring, full_ring_drops)
{
	uint64_t head;

	sample_faults(self->watch.fd, self->room + 9);
	head = self->page->data_head;
	sample_faults(self->watch.fd, 9);
	if (head + RECORD < self->watch.ring.data_size || head > self->watch.ring.data_size ||
	    self->page->data_head != head)
		broken("data_head=%" PRIu64 " then %" PRIu64 " room=%zu", head,
		       (uint64_t)self->page->data_head, self->watch.ring.data_size);
}

TEST_F(ring, tail_frees_space)
{
	uint64_t full;
	int found;

	sample_faults(self->watch.fd, self->room + 9);
	full = self->page->data_head;
	found = count_records(&self->watch.ring, PERF_RECORD_SAMPLE);
	if (found < 0 || full != (uint64_t)found * RECORD)
		broken("records=%d in %" PRIu64 " bytes", found, full);
	sample_faults(self->watch.fd, self->room / 2);
	found = count_records(&self->watch.ring, PERF_RECORD_SAMPLE);
	if (found != (int)self->room / 2)
		broken("after the tail moved: records=%d want=%d", found, (int)self->room / 2);
}

TEST_F(ring, own_head_is_kept)
{
	uint64_t counted = sample_faults(self->watch.fd, 5);

	self->page->data_head = 0x123456789abcdef0;
	counted += sample_faults(self->watch.fd, 5);
	if (self->page->data_head != counted * RECORD || counted != 10)
		broken("data_head=%#" PRIx64 " want=%#" PRIx64, (uint64_t)self->page->data_head,
		       counted * RECORD);
}

/* Whatever was written: the event counts, and a reader who starts afresh finds its records. */
static void must_still_work(struct __test_metadata *_metadata, struct watch *watch,
			    volatile struct perf_event_mmap_page *page, const char *what)
{
	uint64_t counted;
	int found;

	watch->ring.tail = pm_ring_head(&watch->ring);
	pm_ring_release(&watch->ring);
	counted = sample_faults(watch->fd, 7);
	found = count_records(&watch->ring, PERF_RECORD_SAMPLE);
	if (counted != 7 || found != 7)
		broken("%s: counted=%" PRIu64 " records=%d want=7 data_head=%#" PRIx64, what,
		       counted, found, (uint64_t)page->data_head);
}

TEST_F(ring, silly_tail_is_survived)
{
	static const uint64_t tails[] = { ~0ull, 1, 0x8000000000000000, 0xfffff001, 123456789 };

	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		self->page->data_tail = tails[i];
		if (sample_faults(self->watch.fd, self->room + 1) != self->room + 1)
			broken("data_tail=%#" PRIx64 ": the event stopped counting", tails[i]);
		/* What was written meanwhile is nobody's; only a fresh start is asked for. */
		sample_faults(self->watch.fd, 1);
		must_still_work(_metadata, &self->watch, self->page, "silly tail");
	}
}

TEST_F(ring, other_fields_are_survived)
{
	const uint64_t offset = self->page->data_offset, size = self->page->data_size;

	self->page->version = ~0u;
	self->page->compat_version = ~0u;
	self->page->data_offset = ~0ull;
	self->page->data_size = 12345;
	self->page->aux_head = self->page->aux_tail = self->page->aux_offset = ~0ull;
	self->page->aux_size = ~0ull;
	must_still_work(_metadata, &self->watch, self->page, "garbage in the page");
	self->page->data_offset = offset;
	self->page->data_size = size;
}

PROBE_MAIN
