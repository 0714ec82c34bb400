/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With every field at once, is each where the documented order puts it, and does the record end
 * with the last one?
 * Observed: the fields this kernel takes for a page fault are asked for together; the decoder walks
 * them in the documented order, and first, middle and last are held against the truth.
 */
#include "probe.h"

PROBE(TITLE("all sample fields at once")
      SINCE("3.12")
      POINT(everything, "first, middle and last field are true and nothing is left over")
      POINT(identifier_first, "IDENTIFIER is the first word of a sample")
      POINT(identifier_last, "IDENTIFIER is the last word of any other record")
      FACT(fields, string, "bits", "sample_type of the largest sample this kernel writes here")
      FACT(size, int, "bytes", "its size"))

/* Add what the kernel accepts, one field after the other. */
static struct perf_event_attr attr_everything(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						  PERF_SAMPLE_TID | PERF_SAMPLE_TIME);

	attr.exclude_callchain_kernel = 1;
	attr.sample_id_all = 1;
	attr.comm = 1;
	attr.read_format = PERF_FORMAT_ID;
	for (unsigned int bit = 0; bit < 25; bit++) {
		struct perf_event_attr more = attr;
		int fd;

		more.sample_type |= 1ull << bit;
		if (more.sample_type & PERF_SAMPLE_REGS_USER)
			more.sample_regs_user = 1;
		if (more.sample_type & PERF_SAMPLE_REGS_INTR)
			more.sample_regs_intr = 1;
		if (more.sample_type & PERF_SAMPLE_STACK_USER)
			more.sample_stack_user = 256;
		fd = pm_open(&more, 0, -1, -1, 0);
		if (fd < 0)
			continue;
		close(fd);
		attr = more;
	}
	return attr;
}

TEST(everything)
{
	struct perf_event_attr attr = attr_everything();
	struct watch watch = must_watch(&attr, 0, -1, 8);
	struct pm_counts counts;
	struct pm_record record;

	ASSERT_EQ(0, pm_read_counts(watch.fd, PERF_FORMAT_ID, &counts));
	fact_str("fields", "%#" PRIx64, attr.sample_type);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!seek(&watch, PERF_RECORD_SAMPLE, &record))
		broken("no sample of a page fault");
	fact_int("size", record.size);
	if (record.sample.sid.tid != (uint32_t)pm_gettid() ||
	    record.sample.sid.id != counts.member[0].id || record.sample.period != 1)
		broken("tid=%u id=%" PRIu64 " period=%" PRIu64, record.sample.sid.tid,
		       record.sample.sid.id, record.sample.period);
	if ((attr.sample_type & PERF_SAMPLE_CALLCHAIN) &&
	    (record.sample.callchain_nr < 2 || record.sample.callchain[1] != record.sample.ip))
		broken("callchain of %" PRIu64 " words does not begin with the IP",
		       record.sample.callchain_nr);
	if ((attr.sample_type & PERF_SAMPLE_REGS_USER) && record.sample.regs_user_nr != 1)
		broken("registers=%u want=1", record.sample.regs_user_nr);
	if ((attr.sample_type & PERF_SAMPLE_CODE_PAGE_SIZE) &&
	    record.sample.code_page_size < probe_env()->page_size)
		broken("code_page_size=%" PRIu64 " at the end", record.sample.code_page_size);
}

/* One word of a record, counted from its body or, when negative, from its end. */
static uint64_t word_of(const struct perf_event_header *header, int index)
{
	const char *at = index < 0 ? (const char *)header + header->size + 8 * index
				   : (const char *)(header + 1) + 8 * index;
	uint64_t word;

	memcpy(&word, at, 8);
	return word;
}

static void find_identifier(struct __test_metadata *_metadata, uint32_t type, int index)
{
	struct perf_event_attr attr = attr_everything();
	struct watch watch = must_watch(&attr, 0, -1, 8);
	const struct perf_event_header *header;
	struct pm_counts counts;
	uint64_t id = 0;

	ASSERT_EQ(0, pm_read_counts(watch.fd, PERF_FORMAT_ID, &counts));
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	pthread_setname_np(pthread_self(), "named");
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	do
		if (pm_ring_next(&watch.ring, &header) != 1)
			broken("no record of type %u", type);
	while (header->type != type);
	if (word_of(header, index) != counts.member[0].id)
		broken("word %d=%#" PRIx64 " want=%" PRIu64, index, word_of(header, index),
		       counts.member[0].id);
	if (pm_record_identifier(header, &id) || id != counts.member[0].id)
		broken("the library finds id %" PRIu64, id);
}

TEST(identifier_first)
{
	find_identifier(_metadata, PERF_RECORD_SAMPLE, 0);
}

TEST(identifier_last)
{
	find_identifier(_metadata, PERF_RECORD_COMM, -1);
}

PROBE_MAIN
