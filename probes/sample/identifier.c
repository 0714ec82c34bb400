/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a reader tell the event of a record without knowing the record's layout? IDENTIFIER is made
 * for rings that events of different sample_type share: it is first in samples and last in all
 * else.
 * Observed: one page fault and one new name; the words, and what the library decodes.
 */
#include "probe.h"

PROBE(TITLE("the place of IDENTIFIER in records")
      SINCE("3.12")
      POINT(identifier_first, "IDENTIFIER is the first word of a sample")
      POINT(identifier_last, "IDENTIFIER is the last word of any other record"))

/* One word of a record, counted from its body or, when negative, from its end. */
static uint64_t word_of(const struct perf_event_header *header, int index)
{
	const char *at = index < 0 ? (const char *)header + header->size + 8 * index
				   : (const char *)(header + 1) + 8 * index;
	uint64_t word;

	memcpy(&word, at, 8);
	return word;
}

static void find_identifier(uint32_t type, int index)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						  PERF_SAMPLE_TID | PERF_SAMPLE_CPU);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_IP);
	const struct perf_event_header *header;
	uint64_t id = 0, own;
	struct sampler sampler;

	attr.comm = attr.sample_id_all = 1;
	attr.read_format = PERF_FORMAT_ID;
	sampler = ask_run_sampler(&attr, &without, 0, -1, 8, "IDENTIFIER");
	own = must_counts(sampler.fd, PERF_FORMAT_ID).member[0].id;
	pthread_setname_np(pthread_self(), "named");
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	do
		if (pm_ring_next(&sampler.ring, &header) != 1)
			say_broken("no record of type %u", type);
	while (header->type != type);
	if (word_of(header, index) != own)
		say_broken("word %d=%#" PRIx64 " want=%" PRIu64, index, word_of(header, index),
			   own);
	if (pm_record_identifier(header, &id) || id != own)
		say_broken("the library finds id %" PRIu64, id);
}

TEST(identifier_first)
{
	find_identifier(PERF_RECORD_SAMPLE, 0);
}

TEST(identifier_last)
{
	find_identifier(PERF_RECORD_COMM, -1);
}

PROBE_MAIN
