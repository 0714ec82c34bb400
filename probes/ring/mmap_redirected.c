/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May an event be mapped whose output already goes to another's ring? Up to v6.17 yes, and the
 * munmap that followed silently cut the redirection; since then EBUSY, and it is kept.
 * Observed by the records in the target's ring before and after.
 * Linux commit d06bf78e55d5 (v6.19 and stable v6.18.y)
 */
#include "probe.h"
#include "redirection.h"

PROBE(TITLE("mapping an event that is redirected")
      SINCE("2.6.35")
      HAZARD("an early 6.18 warns about a reference count, which ends a machine with panic_on_warn")
      POINT(refused, "mmap of a redirected event is refused with EBUSY")
      SINCE("6.18")
      COMMIT("d06bf78e55d5")
      POINT(redirection_survives, "after mmap of a redirected event, and munmap where it "
	    "succeeded, output reaches the target")
      FACT(answer, string, "-", "what mmap of a redirected event answers"))

FIXTURE(pair)
{
	struct redirection pair;
	struct pm_ring alias;
	int error;
};

FIXTURE_SETUP(pair)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);

	self->pair = must_redirect(&attr);
	must_samples(self->pair.source, &self->pair.target.ring, 10, "before the mmap");
	self->error = pm_ring_open(self->pair.source, 1, PROT_READ | PROT_WRITE, &self->alias);
}

FIXTURE_TEARDOWN(pair)
{
	close(self->pair.source);
}

TEST_F(pair, refused)
{
	fact_str("answer", "%s", self->error ? pm_errno_name(self->error) : "accepted");
	expect_refused(self->error, EBUSY, NO, "mmap of a redirected event");
}

TEST_F(pair, redirection_survives)
{
	if (!self->error)
		pm_ring_close(&self->alias);
	expect_samples(self->pair.source, &self->pair.target.ring, 10, "after the mmap");
}

PROBE_MAIN
