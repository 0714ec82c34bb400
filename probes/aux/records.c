/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a trace unit (Intel PT or BTS, Arm SPE or ETM, ...) deliver into its AUX area, and do the
 * records tell what lies there? The trace itself is bytes of the hardware's own kind; the kernel
 * says by PERF_RECORD_AUX where they are and whether some were lost.
 * Observed with a small area and some milliseconds of work in a loop of branches.
 * Linux commit 45bfb2e50471 ("perf: Add AUX area to ring buffer for raw data streams") (v4.1)
 */
#include "probe.h"

PROBE(TITLE("AUX areas and their records")
      SINCE("4.1")
      COMMIT("45bfb2e50471")
      NEEDS("aux")
      POINT(area_is_filled, "aux_head moves while the task works")
      POINT(records_cover_the_area, "AUX records lead without a gap from 0 to aux_head")
      POINT(full_area_is_truncated, "a full area is told with the flag TRUNCATED, aux_head stops")
      POINT(read_only_overwrites, "mapped for reading only, records have the flag OVERWRITE")
      POINT(start_is_told, "an ITRACE_START record names the traced task")
      POINT(samples_hold_trace, "PERF_SAMPLE_AUX puts trace into the samples of a group member")
      SINCE("5.5")
      POINT(starts_paused, "aux_start_paused: nothing is traced until it is resumed")
      SINCE("6.13")
      FACT(pmu, string, "-", "name of the PMU that was used")
      FACT(flags, int, "-", "all flags of AUX records seen, or-ed")
      FACT(hw_ids, int, "records", "AUX_OUTPUT_HW_ID records seen"))

#define DATA_PAGES 8
#define AUX_PAGES 16

FIXTURE(trace)
{
	struct perf_event_attr attr;
	struct watch watch;
	volatile struct perf_event_mmap_page *page;
	uint64_t covered, flags, starts, gaps, hw_ids;
};

/* Known names, because opening every PMU there is would meet many that are none of our business. */
static int is_aux_pmu(const char *name, void *context)
{
	static const char *const names[] = { "intel_pt", "intel_bts", "arm_spe_", "cs_etm",
					     "hisi_ptt", "arm_trbe" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i]))) {
			if (strlen(name) < 64)
				strcpy(context, name);
			return 1;
		}
	return 0;
}

static int map_aux(FIXTURE_DATA(trace) *self, int prot)
{
	const size_t unit = probe_env()->page_size;
	void *area;

	self->page = self->watch.ring.base;
	self->page->aux_offset = (1 + DATA_PAGES) * unit;
	self->page->aux_size = AUX_PAGES * unit;
	area = mmap(NULL, AUX_PAGES * unit, prot, MAP_SHARED, self->watch.fd,
		    (1 + DATA_PAGES) * unit);
	return area == MAP_FAILED ? -errno : 0;
}

FIXTURE_SETUP(trace)
{
	char name[64] = "";

	require(REQUIRE_PERF);
	if (pm_pmu_each(is_aux_pmu, name) != 1)
		say_absent("no PMU with AUX data (intel_pt, intel_bts, arm_spe, cs_etm, hisi_ptt)");
	fact_str("pmu", "%s", name);
	self->attr = attr_of(pm_pmu_type(name), 0);
	self->attr.sample_type = PERF_SAMPLE_TID;
	self->attr.sample_period = 1;
	self->attr.sample_id_all = 1;
	self->watch = must_watch(&self->attr, 0, -1, DATA_PAGES);
}

FIXTURE_TEARDOWN(trace)
{
	close(self->watch.fd);
}

/* Trace some work, then read all records about it. */
static void trace(struct __test_metadata *_metadata, FIXTURE_DATA(trace) *self, uint64_t ns)
{
	struct pm_record record;

	must_ioctl(self->watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(ns);
	must_ioctl(self->watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (seek(&self->watch, 0, &record)) {
		self->starts += record.type == PERF_RECORD_ITRACE_START &&
				record.itrace_start.tid == (uint32_t)pm_gettid();
		self->hw_ids += record.type == PERF_RECORD_AUX_OUTPUT_HW_ID;
		if (record.type != PERF_RECORD_AUX)
			continue;
		self->gaps += record.aux.offset != self->covered;
		self->covered = record.aux.offset + record.aux.size;
		self->flags |= record.aux.flags;
	}
	fact_int("flags", self->flags);
}

static void must_map_aux(struct __test_metadata *_metadata, FIXTURE_DATA(trace) *self, int prot)
{
	int error = map_aux(self, prot);

	if (error == -EINVAL)
		say_no("EINVAL for the AUX area of a trace unit");
	if (error == -EPERM)
		say_blocked("EPERM: no locked memory left for %d pages", AUX_PAGES);
	if (error)
		cannot_tell("mmap of an AUX area: %s", errno_name(error));
}

TEST_F(trace, area_is_filled)
{
	must_map_aux(_metadata, self, PROT_READ | PROT_WRITE);
	trace(_metadata, self, 3000000);
	fact_int("hw_ids", self->hw_ids);
	if (!self->page->aux_head)
		broken("aux_head=0 after 3 ms of work");
}

TEST_F(trace, records_cover_the_area)
{
	must_map_aux(_metadata, self, PROT_READ | PROT_WRITE);
	trace(_metadata, self, 3000000);
	if (!self->covered || self->gaps || self->covered != self->page->aux_head)
		broken("records cover %" PRIu64 " bytes with %" PRIu64 " gaps, aux_head=%" PRIu64,
		       self->covered, self->gaps, (uint64_t)self->page->aux_head);
}

TEST_F(trace, full_area_is_truncated)
{
	const uint64_t room = AUX_PAGES * probe_env()->page_size;

	must_map_aux(_metadata, self, PROT_READ | PROT_WRITE);
	for (int round = 0; round < 10 && !(self->flags & PERF_AUX_FLAG_TRUNCATED); round++)
		trace(_metadata, self, 10000000);
	if (!(self->flags & PERF_AUX_FLAG_TRUNCATED) || self->page->aux_head > room)
		broken("flags=%#" PRIx64 " aux_head=%" PRIu64 " of %" PRIu64, self->flags,
		       (uint64_t)self->page->aux_head, room);
}

TEST_F(trace, read_only_overwrites)
{
	must_map_aux(_metadata, self, PROT_READ);
	trace(_metadata, self, 5000000);
	if (!(self->flags & PERF_AUX_FLAG_OVERWRITE))
		broken("flags=%#" PRIx64 " want OVERWRITE", self->flags);
}

TEST_F(trace, start_is_told)
{
	must_map_aux(_metadata, self, PROT_READ | PROT_WRITE);
	trace(_metadata, self, 3000000);
	if (!self->starts)
		say_no("no ITRACE_START record of this thread");
}

TEST_F(trace, samples_hold_trace)
{
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TID), with = without;
	struct watch member = self->watch;
	struct pm_record record;
	uint64_t bytes = 0;
	int control;

	must_map_aux(_metadata, self, PROT_READ);
	without.disabled = with.disabled = 0;
	with.sample_type |= PERF_SAMPLE_AUX;
	with.aux_sample_size = 256;
	control = must_open(&without, 0, -1, self->watch.fd, 0);
	close(control);
	member.fd = pm_open(&with, 0, -1, self->watch.fd, 0);
	if (member.fd < 0) {
		struct finding finding;

		classify_asked(-member.fd, "PERF_SAMPLE_AUX", &with, 0, -1, &finding);
		speak(&finding);
	}
	must_map(member.fd, DATA_PAGES, &member.ring);
	pm_format_of(&with, &member.format);
	sample_faults(self->watch.fd, 20);
	while (seek(&member, PERF_RECORD_SAMPLE, &record))
		bytes += record.sample.aux_size;
	if (!bytes)
		broken("20 samples hold no trace");
}

TEST_F(trace, starts_paused)
{
	struct perf_event_attr with = self->attr;

	must_map_aux(_metadata, self, PROT_READ | PROT_WRITE);
	trace(_metadata, self, 3000000);
	if (!self->page->aux_head)
		broken("aux_head=0 after 3 ms of work without a pause");
	close(self->watch.fd);
	with.aux_start_paused = 1;
	self->watch = ask_watch(&with, &self->attr, 0, -1, DATA_PAGES, "aux_start_paused");
	must_map_aux(_metadata, self, PROT_READ | PROT_WRITE);
	trace(_metadata, self, 3000000);
	if (self->page->aux_head)
		broken("aux_head=%" PRIu64 " although it starts paused",
		       (uint64_t)self->page->aux_head);
}

PROBE_MAIN
