/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the kernel report the records that it could not store? A LOST record follows when there is
 * space again. A tool that claims completeness needs it to be exact.
 * Observed by overfilling: samples and losses together must be all that was counted.
 */
#include "probe.h"

PROBE(TITLE("LOST records")
      SINCE("2.6.31")
      POINT(is_exact, "samples read and LOST records add up to the count, each time the ring "
	    "overflows")
      POINT(needs_space, "a LOST record comes with the first record after space was freed")
      POINT(carries_id, "a LOST record carries the id of the event that lost")
      SINCE("2.6.33")
      FACT(drain_rate, int, "records/s", "read and parsed one by one out of a full ring of a page"))

#define EXTRA 37
#define MORE 300

static struct perf_event_attr faults_with(uint64_t read_format)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.read_format = read_format;
	attr.sample_id_all = 1;
	return attr;
}

/* The LOST record of an overflow has come, and says at least that much. */
static void expect_lost(struct sampler *sampler, uint64_t least)
{
	struct pm_record record;

	if (!find_record(sampler, 0, &record) || record.type != PERF_RECORD_LOST)
		say_broken("first record after space was freed: type=%u want=2", record.type);
	if (record.lost.lost < least)
		say_broken("lost=%" PRIu64 " want at least %" PRIu64, record.lost.lost, least);
}

/* All LOST counts and all samples that are in the ring now. */
static uint64_t drain(struct sampler *sampler, uint64_t *samples, uint64_t *id)
{
	struct pm_record record;
	uint64_t lost = 0;

	while (find_record(sampler, 0, &record)) {
		*samples += record.type == PERF_RECORD_SAMPLE;
		if (record.type != PERF_RECORD_LOST)
			continue;
		lost += record.lost.lost;
		*id = record.lost.id;
	}
	return lost;
}

TEST(is_exact)
{
	struct perf_event_attr attr = faults_with(0);
	struct sampler sampler = must_sampler(&attr, 0, -1, 1);
	uint64_t samples = 0, id, counted, lost, start, took;

	counted = cause_enabled_faults(sampler.fd, sampler.ring.data_size / 16 + EXTRA);
	start = now_ns();
	lost = drain(&sampler, &samples, &id);
	took = now_ns() - start;
	if (took)	/* a coarse clock may not move */
		fact_int("drain_rate", samples * 1000000000 / took);
	counted += cause_enabled_faults(sampler.fd, 1);
	lost += drain(&sampler, &samples, &id);
	/* Once more: a LOST tells what was lost since the one before. */
	counted += cause_enabled_faults(sampler.fd, sampler.ring.data_size / 16 + MORE);
	lost += drain(&sampler, &samples, &id);
	counted += cause_enabled_faults(sampler.fd, 1);
	lost += drain(&sampler, &samples, &id);
	if (!lost || samples + lost != counted)
		say_broken("samples=%" PRIu64 " lost=%" PRIu64 " counted=%" PRIu64, samples, lost,
			   counted);
}

TEST(needs_space)
{
	struct perf_event_attr attr = faults_with(0);
	struct sampler sampler = must_sampler(&attr, 0, -1, 1);
	uint64_t samples = 0, id;
	struct pm_record record;

	for (int i = 0; i < 2; i++) {
		const uint64_t more = i ? MORE : EXTRA;

		cause_enabled_faults(sampler.fd, sampler.ring.data_size / 16 + more);
		if (drain(&sampler, &samples, &id))
			say_broken("a full ring holds a LOST record, after %" PRIu64 " samples",
				   samples);
		cause_enabled_faults(sampler.fd, 1);
		expect_lost(&sampler, more);
	}
	if (!find_record(&sampler, 0, &record) || record.type != PERF_RECORD_SAMPLE)
		say_broken("second record after space was freed: type=%u want=9", record.type);
}

static void expect_own_id(void)
{
	struct perf_event_attr attr = faults_with(PERF_FORMAT_ID);
	struct sampler sampler = must_sampler(&attr, 0, -1, 1);
	uint64_t samples = 0, id = 0;
	struct pm_counts counts;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(sampler.ring.data_size / 16 + EXTRA));
	drain(&sampler, &samples, &id);
	ASSERT_EQ(0, cause_faults(1));
	drain(&sampler, &samples, &id);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, pm_read_counts(sampler.fd, PERF_FORMAT_ID, &counts));
	if (!id || id != counts.member[0].id)
		say_broken("LOST names id=%" PRIu64 ", the event's is %" PRIu64, id,
			   counts.member[0].id);
}

/* Of two events, which are open at the same time: not always that of the first. */
TEST(carries_id)
{
	expect_own_id();
	expect_own_id();
}

PROBE_MAIN
