/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the first page of a ring say about the ring? Its version, and since v4.1 where the
 * data begins and how long it is; before that a reader has to assume one page. The fields for
 * reading counters and clocks belong to other probes.
 * Observed by comparing with what was mapped.
 * Linux commit e8c6deac69629 ("perf: Add data_{offset,size} to user_page") (v4.1)
 */
#include "probe.h"

PROBE(TITLE("what the user page says about the ring")
      SINCE("2.6.31")
      POINT(versions_are_zero, "version and compat_version are 0")
      POINT(data_area, "data_offset and data_size describe the mapping")
      SINCE("4.1")
      COMMIT("e8c6deac6962")
      POINT(no_aux_area, "an event without AUX data shows an AUX area of size 0")
      POINT(starts_empty, "data_head and data_tail are 0 in a new ring")
      FACT(size, int, "bytes", "size field: how much of the page the kernel fills in")
      FACT(version, int, "-", "version field")
      FACT(compat_version, int, "-", "compat_version field"))

#define PAGES 2

FIXTURE(user)
{
	const volatile struct perf_event_mmap_page *page;
	struct sampler sampler;
};

FIXTURE_SETUP(user)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	self->sampler = must_sampler(&attr, 0, -1, PAGES);
	self->page = self->sampler.ring.base;
}

FIXTURE_TEARDOWN(user)
{
	pm_ring_close(&self->sampler.ring);
}

/* A page of zeros that nobody fills would keep every rule below. */
static void must_be_alive(FIXTURE_DATA(user) * self)
{
	expect_samples(self->sampler.fd, &self->sampler.ring, 3, "a ring with this page");
	if (!self->page->data_head)
		say_broken("no data_head after 3 records: not a user page");
}

TEST_F(user, versions_are_zero)
{
	fact_int("version", self->page->version);
	fact_int("compat_version", self->page->compat_version);
	fact_int("size", self->page->size);
	if (self->page->version || self->page->compat_version)
		say_broken("version=%u compat_version=%u", self->page->version,
			   self->page->compat_version);
	must_be_alive(self);
}

TEST_F(user, data_area)
{
	const uint64_t page_size = probe_env()->page_size;

	must_be_alive(self);
	if (!self->page->data_offset && !self->page->data_size)
		say_no("both fields are 0 in a ring that works");
	if (self->page->data_offset != page_size || self->page->data_size != PAGES * page_size)
		say_broken("data_offset=%" PRIu64 " data_size=%" PRIu64 " want=%" PRIu64
			   ",%" PRIu64,
			   (uint64_t)self->page->data_offset, (uint64_t)self->page->data_size,
			   page_size, PAGES * page_size);
}

TEST_F(user, no_aux_area)
{
	must_be_alive(self);
	if (self->page->aux_size || self->page->aux_head || self->page->aux_offset)
		say_broken("aux_offset=%" PRIu64 " aux_size=%" PRIu64 " aux_head=%" PRIu64,
			   (uint64_t)self->page->aux_offset, (uint64_t)self->page->aux_size,
			   (uint64_t)self->page->aux_head);
}

TEST_F(user, starts_empty)
{
	if (self->page->data_head || self->page->data_tail)
		say_broken("data_head=%" PRIu64 " data_tail=%" PRIu64,
			   (uint64_t)self->page->data_head, (uint64_t)self->page->data_tail);
	must_be_alive(self);
}

PROBE_MAIN
