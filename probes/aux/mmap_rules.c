/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which places and sizes of an AUX area does the kernel refuse? The reader writes aux_offset and
 * aux_size into the user page and maps at that offset. The kernel checks the rules before it asks
 * whether the event has AUX data at all, so any machine can answer: a software event that keeps all
 * rules gets EOPNOTSUPP, one that breaks a rule gets EINVAL.
 * Linux commit 45bfb2e50471 ("perf: Add AUX area to ring buffer for raw data streams") (v4.1)
 */
#include "probe.h"

PROBE(TITLE("rules for mapping an AUX area")
      SINCE("4.1")
      COMMIT("45bfb2e50471")
      POINT(software_has_none,
	    "a software event that keeps all rules gets EOPNOTSUPP for an AUX area, or 524")
      POINT(without_setup_is_refused, "EINVAL for an AUX area while aux_offset and aux_size are 0")
      SINCE("2.6.31")
      POINT(below_data_is_refused, "EINVAL for an aux_offset inside the data area")
      POINT(other_offset_is_refused, "EINVAL for an AUX area mapped elsewhere than at aux_offset")
      POINT(other_size_is_refused, "EINVAL for an AUX area of a length that is not aux_size")
      POINT(odd_size_is_refused, "EINVAL for an AUX area whose number of pages is no power of two")
      POINT(without_ring_is_refused,
	    "EINVAL for an AUX area of an event whose data area is not mapped")
      SINCE("2.6.31")
      FACT(software_errno, int, "errno", "how an AUX area of a software event is refused"))

#define DATA_PAGES 2
#define ENOTSUPP_OF_KERNEL 524	/* what 4.4 says: a number of the kernel's own */

FIXTURE(ring)
{
	volatile struct perf_event_mmap_page *page;
	struct sampler sampler;
	uint64_t unit;
};

FIXTURE_SETUP(ring)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	self->sampler = must_sampler(&attr, 0, -1, DATA_PAGES);
	self->page = self->sampler.ring.base;
	self->unit = probe_env()->page_size;
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&self->sampler.ring);
}

/* Announce an AUX area and map one; all in pages. Returns 0 or -errno. */
static int map_aux(FIXTURE_DATA(ring) *self, uint64_t offset, uint64_t size, uint64_t at,
		   uint64_t length)
{
	void *base;

	self->page->aux_offset = offset * self->unit;
	self->page->aux_size = size * self->unit;
	base = mmap(NULL, length * self->unit, PROT_READ | PROT_WRITE, MAP_SHARED, self->sampler.fd,
		    at * self->unit);
	if (base == MAP_FAILED)
		return -errno;
	munmap(base, length * self->unit);
	return 0;
}

/* With all rules kept, any answer other than EINVAL shows that this kernel knows AUX areas: some
 * give EOPNOTSUPP, some (4.4) a number that only the kernel knows, 524. Returns it. */
static int must_know_aux(FIXTURE_DATA(ring) * self)
{
	int error = map_aux(self, 4, 4, 4, 4);

	if (error == -EINVAL)
		say_no("EINVAL for an AUX area that keeps all rules");
	return error;
}

TEST_F(ring, software_has_none)
{
	const int error = must_know_aux(self);

	fact_int("software_errno", -error);
	if (error != -ENOTSUPP_OF_KERNEL)
		expect_refused(error, EOPNOTSUPP, BROKEN, "an AUX area of a software event");
}

TEST_F(ring, without_setup_is_refused)
{
	expect_refused(map_aux(self, 0, 0, 4, 4), EINVAL, BROKEN, "an AUX area nobody announced");
	if (cause_enabled_faults(self->sampler.fd, 5) != 5 ||
	    count_records(&self->sampler.ring, PERF_RECORD_SAMPLE) != 5)
		say_broken("the ring does not work after the refusal");
}

TEST_F(ring, below_data_is_refused)
{
	must_know_aux(self);
	expect_refused(map_aux(self, DATA_PAGES, 2, DATA_PAGES, 2), EINVAL, BROKEN,
		       "an AUX area inside the data area");
}

TEST_F(ring, other_offset_is_refused)
{
	must_know_aux(self);
	expect_refused(map_aux(self, 4, 4, 8, 4), EINVAL, BROKEN, "an AUX area at another offset");
}

TEST_F(ring, other_size_is_refused)
{
	must_know_aux(self);
	expect_refused(map_aux(self, 4, 4, 4, 2), EINVAL, BROKEN, "an AUX area of another size");
}

TEST_F(ring, odd_size_is_refused)
{
	must_know_aux(self);
	expect_refused(map_aux(self, 4, 3, 4, 3), EINVAL, BROKEN, "an AUX area of three pages");
}

TEST_F(ring, without_ring_is_refused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	int fd = must_open(&attr, 0, -1, -1, 0);
	void *base;

	if (cause_enabled_faults(fd, 5) != 5)
		say_unknown("an event without a ring does not count");
	base = mmap(NULL, 4 * self->unit, PROT_READ, MAP_SHARED, fd, 4 * self->unit);
	expect_refused(base == MAP_FAILED ? -errno : 0, EINVAL, BROKEN,
		       "an AUX area without a ring");
}

PROBE_MAIN
