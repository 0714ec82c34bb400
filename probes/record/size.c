/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is header.size of a sample what its sample_type adds up to, for any mix of fields? A reader steps
 * from record to record by it.
 * Observed: page faults are sampled with many mixes of fixed-width fields. Each field adds 8 bytes,
 * and the walk ends exactly at data_head.
 */
#include "probe.h"

PROBE(TITLE("the size of samples")
      SINCE("2.6.31")
      POINT(single, "each fixed-width field alone adds exactly 8 bytes to a sample")
      POINT(mixes, "200 mixes of fixed-width fields add exactly 8 bytes a field to a sample")
      FACT(fields, int, "fields", "fixed-width fields this kernel takes for page faults"))

static const uint64_t fixed_fields[] = {
	PERF_SAMPLE_IP,	    PERF_SAMPLE_TID,	    PERF_SAMPLE_TIME,	PERF_SAMPLE_ADDR,
	PERF_SAMPLE_ID,	    PERF_SAMPLE_CPU,	    PERF_SAMPLE_PERIOD, PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_WEIGHT, PERF_SAMPLE_DATA_SRC,   PERF_SAMPLE_IDENTIFIER,
	PERF_SAMPLE_TRANSACTION, PERF_SAMPLE_CGROUP, PERF_SAMPLE_DATA_PAGE_SIZE,
	PERF_SAMPLE_CODE_PAGE_SIZE,
};
#define FIELDS (sizeof(fixed_fields) / sizeof(*fixed_fields))

/* Cause a fault sampled like this; 0 when the kernel does not take the type, else the size. */
static unsigned int sample_size(uint64_t type)
{
	struct perf_event_attr attr = attr_faults(type);
	const struct perf_event_header *header;
	struct sampler sampler = { .fd = pm_open(&attr, 0, -1, -1, 0) };
	unsigned int size;

	if (sampler.fd < 0)
		return 0;
	must_map(sampler.fd, 1, &sampler.ring);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (pm_ring_next(&sampler.ring, &header) != 1 || header->type != PERF_RECORD_SAMPLE)
		say_broken("sample_type=%#" PRIx64 ": no sample of a page fault", type);
	size = header->size;
	while (pm_ring_next(&sampler.ring, &header) == 1)
		;
	if (pm_ring_pending(&sampler.ring))
		say_broken("sample_type=%#" PRIx64 ": the walk does not end at data_head", type);
	pm_ring_close(&sampler.ring);
	close(sampler.fd);
	return size;
}

TEST(single)
{
	struct perf_event_attr plain = attr_faults(PERF_SAMPLE_IP);
	unsigned int known = 0;

	close(must_open(&plain, 0, -1, -1, 0));
	for (unsigned int i = 0; i < FIELDS; i++) {
		unsigned int size = sample_size(fixed_fields[i]);

		if (size && size != sizeof(struct perf_event_header) + 8)
			say_broken("sample_type=%#" PRIx64 " size=%u want=16", fixed_fields[i],
				   size);
		known += size != 0;
	}
	fact_int("fields", known);
	if (known < 8)
		say_broken("fields taken=%u, of which 8 are as old as perf", known);
}

TEST(mixes)
{
	struct perf_event_attr plain = attr_faults(PERF_SAMPLE_IP);
	uint64_t usable[FIELDS];
	unsigned int count = 0;
	uint32_t random = 12345;

	close(must_open(&plain, 0, -1, -1, 0));
	for (unsigned int i = 0; i < FIELDS; i++)
		if (sample_size(fixed_fields[i]))
			usable[count++] = fixed_fields[i];
	for (int round = 0; round < 200; round++) {
		unsigned int size, want = sizeof(struct perf_event_header);
		uint64_t type = 0;

		random = random * 1103515245 + 12345;
		for (unsigned int i = 0; i < count; i++)
			if (random >> (i + 8) & 1) {
				type |= usable[i];
				want += 8;
			}
		size = type ? sample_size(type) : want;
		if (size != want)
			say_broken("sample_type=%#" PRIx64 " size=%u want=%u", type, size, want);
	}
}

PROBE_MAIN
