/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a ring's mapping be taken apart? It cannot grow; newer kernels also refuse to unmap, protect
 * or shrink a part, for the page they count by would no longer be what was mapped. Older ones let
 * it happen, which harms only who does it.
 * Observed: refused, and the ring works before and after.
 */
#include "probe.h"

PROBE(TITLE("changing a ring's mapping")
      SINCE("2.6.31")
      POINT(growth_is_refused, "mremap of a ring to a larger size fails")
      POINT(partial_unmap_is_refused, "unmapping a part of a ring fails")
      SINCE("6.17")
      POINT(partial_protect_is_refused, "changing the protection of a part of a ring fails")
      SINCE("6.17")
      POINT(shrinking_is_refused, "mremap of a ring to a smaller size fails")
      SINCE("6.17"))

static struct sampler sampler;

static size_t page_size(void)
{
	return probe_env()->page_size;
}

FIXTURE(ring)
{
	char *base;
};

FIXTURE_SETUP(ring)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);

	sampler = must_sampler(&attr, 0, -1, 4);
	self->base = sampler.ring.base;
	must_samples(sampler.fd, &sampler.ring, 3, "whole");
}

FIXTURE_TEARDOWN(ring)
{
	pm_ring_close(&sampler.ring);
}

/* What later kernels refuse older ones accepted, which harms only who does it. */
static void must_refuse(int result, const char *what)
{
	if (!result)
		say_no("%s: accepted", what);
	if (errno != EINVAL)
		say_broken("%s: errno=%s want=EINVAL", what, pm_errno_name(errno));
	expect_samples(sampler.fd, &sampler.ring, 3, what);
}

TEST_F(ring, growth_is_refused)
{
	if (mremap(self->base, sampler.ring.map_size, 9 * page_size(), MREMAP_MAYMOVE) !=
	    MAP_FAILED)
		say_broken("a ring grew from %zu bytes to %zu", sampler.ring.map_size,
			   9 * page_size());
	expect_samples(sampler.fd, &sampler.ring, 3, "after the refusal");
}

TEST_F(ring, partial_unmap_is_refused)
{
	must_refuse(munmap(self->base + 2 * page_size(), page_size()),
		    "munmap of one page in the middle");
}

TEST_F(ring, partial_protect_is_refused)
{
	must_refuse(mprotect(self->base + 2 * page_size(), page_size(), PROT_READ),
		    "mprotect of one page in the middle");
}

TEST_F(ring, shrinking_is_refused)
{
	void *moved;

	moved = mremap(self->base, sampler.ring.map_size, 3 * page_size(), 0);
	must_refuse(moved == MAP_FAILED ? -1 : 0, "mremap to a smaller size");
}

PROBE_MAIN
