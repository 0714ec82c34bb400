/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What if a program writes nonsense into the page it shares with the kernel? The page is writable,
 * so every process can try: the kernel keeps its own state, and neither event nor ring suffers.
 * Observed with 16-byte records of page faults, whose number is exact.
 */
#include "probe.h"

PROBE(TITLE("garbage in the user page")
      SINCE("2.6.31")
      POINT(head_is_corrected, "garbage written over data_head is corrected by the next record")
      POINT(tail_is_survived, "garbage in data_tail harms neither the event nor its ring")
      POINT(other_fields_are_survived, "garbage in other fields of the user page harms neither "
	    "the event nor its ring"))

#define RECORD 16			/* a header and an address */

FIXTURE(ring)
{
	volatile struct perf_event_mmap_page *page;
	struct sampler sampler;
};

FIXTURE_SETUP(ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);

	self->sampler = must_sampler(&attr, 0, -1, 1);
	self->page = self->sampler.ring.base;
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&self->sampler.ring);
}

TEST_F(ring, head_is_corrected)
{
	uint64_t counted = cause_enabled_faults(self->sampler.fd, 5);

	self->page->data_head = 0x123456789abcdef0;
	counted += cause_enabled_faults(self->sampler.fd, 5);
	if (self->page->data_head != counted * RECORD || counted != 10)
		say_broken("data_head=%#" PRIx64 " want=%#" PRIx64, (uint64_t)self->page->data_head,
			   counted * RECORD);
}

/* Whatever was written: the event counts, and a reader who starts afresh finds its records. */
static void must_still_work(struct sampler *sampler, const char *what)
{
	sampler->ring.tail = pm_ring_head(&sampler->ring);
	pm_ring_release(&sampler->ring);
	expect_samples(sampler->fd, &sampler->ring, 7, what);
}

TEST_F(ring, tail_is_survived)
{
	static const uint64_t tails[] = { ~0ull, 1, 0x8000000000000000, 0xfffff001, 123456789 };
	const uint64_t room = self->sampler.ring.data_size / RECORD;

	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		self->page->data_tail = tails[i];
		if (cause_enabled_faults(self->sampler.fd, room + 1) != room + 1)
			say_broken("data_tail=%#" PRIx64 ": the event stopped counting", tails[i]);
		/* What was written meanwhile is lost: does a fresh start work? */
		cause_enabled_faults(self->sampler.fd, 1);
		must_still_work(&self->sampler, "garbage in data_tail");
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
	must_still_work(&self->sampler, "garbage in the page");
	self->page->data_offset = offset;
	self->page->data_size = size;
}

PROBE_MAIN
