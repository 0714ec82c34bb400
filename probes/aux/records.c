/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a trace unit (Intel PT or BTS, Arm SPE or ETM, ...) deliver into its AUX area, and do the
 * records tell what lies there? The trace itself has the hardware's own format; PERF_RECORD_AUX
 * says where it is and whether some was lost.
 * Observed: a small area and some milliseconds of work in a loop of branches.
 * Linux commit 45bfb2e50471 ("perf: Add AUX area to ring buffer for raw data streams") (v4.1)
 */
#include "probe.h"
#include "trace_unit.h"

PROBE(TITLE("AUX areas and their records")
      SINCE("4.1")
      COMMIT("45bfb2e50471")
      NEEDS("aux")
      POINT(area_is_filled, "aux_head moves while the task works")
      POINT(records_cover_the_area, "AUX records cover the area from 0 to aux_head without a gap")
      POINT(full_area_is_truncated,
	    "when the area is full a record says TRUNCATED, and aux_head stops")
      POINT(read_only_overwrites,
	    "records of an area mapped for reading only have the flag OVERWRITE")
      POINT(start_is_told, "an ITRACE_START record names the traced task")
      FACT(pmu, string, "-", "name of the PMU that was used")
      FACT(hw_ids, bool, "-", "the PMU writes AUX_OUTPUT_HW_ID records"))

#define DATA_PAGES 8
#define AUX_PAGES 16

FIXTURE(trace)
{
	struct sampler sampler;
	volatile struct perf_event_mmap_page *page;
	uint64_t covered, flags, starts, gaps, hw_ids;
};

FIXTURE_SETUP(trace)
{
	struct perf_event_attr attr;
	char name[64];

	attr = must_trace(name);
	fact_str("pmu", "%s", name);
	self->sampler = must_sampler(&attr, 0, -1, DATA_PAGES);
	self->page = self->sampler.ring.base;
}

FIXTURE_TEARDOWN(trace)
{
	close(self->sampler.fd);
}

/* Trace some work, then read all records about it. */
static void trace(FIXTURE_DATA(trace) * self, uint64_t ns)
{
	struct pm_record record;

	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(ns);
	must_ioctl(self->sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (find_record(&self->sampler, 0, &record)) {
		self->starts += record.type == PERF_RECORD_ITRACE_START &&
				record.itrace_start.tid == (uint32_t)pm_gettid();
		self->hw_ids += record.type == PERF_RECORD_AUX_OUTPUT_HW_ID;
		if (record.type != PERF_RECORD_AUX)
			continue;
		self->gaps += record.aux.offset != self->covered;
		self->covered = record.aux.offset + record.aux.size;
		self->flags |= record.aux.flags;
	}
}

TEST_F(trace, area_is_filled)
{
	ask_aux(&self->sampler, AUX_PAGES, PROT_READ | PROT_WRITE);
	trace(self, 3000000);
	fact_bool("hw_ids", self->hw_ids);
	if (!self->page->aux_head)
		say_broken("aux_head=0 after 3 ms of work");
}

TEST_F(trace, records_cover_the_area)
{
	ask_aux(&self->sampler, AUX_PAGES, PROT_READ | PROT_WRITE);
	trace(self, 3000000);
	if (!self->covered || self->gaps || self->covered != self->page->aux_head)
		say_broken("records cover %" PRIu64 " bytes with %" PRIu64
			   " gaps, aux_head=%" PRIu64,
			   self->covered, self->gaps, (uint64_t)self->page->aux_head);
}

TEST_F(trace, full_area_is_truncated)
{
	const uint64_t room = AUX_PAGES * probe_env()->page_size;

	ask_aux(&self->sampler, AUX_PAGES, PROT_READ | PROT_WRITE);
	for (int round = 0; round < 10 && !(self->flags & PERF_AUX_FLAG_TRUNCATED); round++)
		trace(self, 10000000);
	if (!(self->flags & PERF_AUX_FLAG_TRUNCATED) || self->page->aux_head > room)
		say_broken("flags=%#" PRIx64 " aux_head=%" PRIu64 " of %" PRIu64, self->flags,
			   (uint64_t)self->page->aux_head, room);
}

TEST_F(trace, read_only_overwrites)
{
	ask_aux(&self->sampler, AUX_PAGES, PROT_READ);
	trace(self, 5000000);
	if (!(self->flags & PERF_AUX_FLAG_OVERWRITE))
		say_broken("flags=%#" PRIx64 " want OVERWRITE", self->flags);
}

TEST_F(trace, start_is_told)
{
	ask_aux(&self->sampler, AUX_PAGES, PROT_READ | PROT_WRITE);
	trace(self, 3000000);
	if (!self->starts)
		say_no("no ITRACE_START record of this thread");
}

PROBE_MAIN
