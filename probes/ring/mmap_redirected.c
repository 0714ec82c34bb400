/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May an event be mapped whose output already goes to another's ring? Up to v6.17 yes, and the
 * munmap that followed silently cut the redirection; since then EBUSY, and it is kept.
 * Observed by the records in the target's ring before and after.
 * Linux commit d06bf78e55d5 (v6.19 and stable v6.18.y)
 */
#include "probe.h"

PROBE(TITLE("mapping an event that is redirected")
      SINCE("2.6.35")
      HAZARD("an early 6.18 warns about a reference count, which ends a machine with panic_on_warn")
      POINT(refused, "mmap of a redirected event is EBUSY")
      SINCE("6.18")
      COMMIT("d06bf78e55d5")
      POINT(redirection_survives, "mapped and unmapped, or refused: output reaches the target")
      FACT(answer, string, "-", "what mmap of a redirected event answers"))

FIXTURE(pair)
{
	struct watch target;
	int source, error;
	uint64_t before;
	struct pm_ring alias;
};

FIXTURE_SETUP(pair)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);

	self->target = must_watch(&attr, 0, -1, 1);
	self->source = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(self->source, PERF_EVENT_IOC_SET_OUTPUT, self->target.fd);
	self->before = sample_faults(self->source, 10);
	if (count_records(&self->target.ring, PERF_RECORD_SAMPLE) != 10)
		cannot_tell("redirection does not work before the mmap");
	self->error = pm_ring_open(self->source, 1, PROT_READ | PROT_WRITE, &self->alias);
}

FIXTURE_TEARDOWN(pair)
{
	close(self->source);
}

TEST_F(pair, refused)
{
	fact_str("answer", "%s", self->error ? errno_name(self->error) : "accepted");
	hold_rule(self->error, EBUSY, NO, "mmap of a redirected event");
}

TEST_F(pair, redirection_survives)
{
	int found;

	if (!self->error)
		pm_ring_close(&self->alias);
	sample_faults(self->source, 10);
	found = count_records(&self->target.ring, PERF_RECORD_SAMPLE);
	if (found != 10)
		broken("mmap: %s; then records=%d want=10 in the target",
		       self->error ? errno_name(self->error) : "accepted", found);
}

PROBE_MAIN
