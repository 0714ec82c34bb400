/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is the dummy event good for? It carries records of mappings, threads and names for a
 * profiler whose real events may come and go. Observed: the record of a mapping arrives, and a
 * period gives no sample.
 */
#include "probe.h"

PROBE(TITLE("what the dummy event carries")
      SINCE("3.12")
      POINT(carries, "a dummy event carries the record of a mapping")
      POINT(no_samples, "a dummy event with a period opens and gives no sample"))

TEST(carries)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_DUMMY), control = attr;
	struct pm_record record;
	struct sampler sampler;
	void *area;

	control.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.mmap_data = attr.mmap = control.mmap_data = control.mmap = 1;
	sampler = ask_sampler(&attr, &control, 0, -1, 2, "dummy event");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	area = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (find_record(&sampler, PERF_RECORD_MMAP, &record))
		if (record.mmap.addr == (uintptr_t)area)
			return;
	say_broken("no record of the mapping");
}

TEST(no_samples)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_DUMMY), control = attr;
	struct sampler sampler;
	int samples;

	control.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.sample_period = control.sample_period = 1;
	sampler = ask_sampler(&attr, &control, 0, -1, 2, "dummy event");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(16));
	samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	if (samples)
		say_broken("samples=%d want=0", samples);
}

PROBE_MAIN
