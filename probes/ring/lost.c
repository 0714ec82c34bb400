/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the kernel own up to records it could not store? A LOST record follows when there is space
 * again; PERF_FORMAT_LOST gives the number at once, also what a pause has dropped.
 * Whoever reports "complete" needs one of the two to be exact.
 * Observed by overfilling: samples and losses together must be all that was counted.
 * Linux commit 119a784c8127 ("perf/core: Add a new read format to get a number of lost samples")
 * (v6.0)
 */
#include "probe.h"

PROBE(TITLE("lost records and how they are told")
      SINCE("2.6.31")
      POINT(record_is_exact, "samples read and LOST records add up to the count")
      POINT(record_needs_space, "LOST comes with the first record after space was freed")
      POINT(record_carries_id, "LOST names the event that lost")
      SINCE("2.6.33")
      POINT(format_is_exact, "PERF_FORMAT_LOST equals what does not stand in the ring")
      SINCE("6.0")
      COMMIT("119a784c8127")
      POINT(format_counts_pause, "PERF_FORMAT_LOST counts what a paused ring drops")
      SINCE("6.0")
      FACT(lost_of_pause_record, int, "records", "count of the LOST record after a pause, 0: none"))

#define EXTRA 37

static struct perf_event_attr faults_with(uint64_t read_format)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.read_format = read_format;
	attr.sample_id_all = 1;
	return attr;
}

/* All LOST counts and all samples that are in the ring now. */
static uint64_t drain(struct __test_metadata *_metadata, struct watch *watch, uint64_t *samples,
		      uint64_t *id)
{
	struct pm_record record;
	uint64_t lost = 0;

	while (seek(watch, 0, &record)) {
		*samples += record.type == PERF_RECORD_SAMPLE;
		if (record.type != PERF_RECORD_LOST)
			continue;
		lost += record.lost.lost;
		*id = record.lost.id;
	}
	return lost;
}

TEST(record_is_exact)
{
	struct perf_event_attr attr = faults_with(0);
	struct watch watch = must_watch(&attr, 0, -1, 1);
	uint64_t samples = 0, id, counted, lost;

	counted = sample_faults(watch.fd, watch.ring.data_size / 16 + EXTRA);
	lost = drain(_metadata, &watch, &samples, &id);
	counted += sample_faults(watch.fd, 1);
	lost += drain(_metadata, &watch, &samples, &id);
	if (!lost || samples + lost != counted)
		broken("samples=%" PRIu64 " lost=%" PRIu64 " counted=%" PRIu64, samples, lost,
		       counted);
}

TEST(record_needs_space)
{
	struct perf_event_attr attr = faults_with(0);
	struct watch watch = must_watch(&attr, 0, -1, 1);
	uint64_t samples = 0, id;
	struct pm_record record;

	sample_faults(watch.fd, watch.ring.data_size / 16 + EXTRA);
	if (drain(_metadata, &watch, &samples, &id))
		broken("a full ring holds a LOST record, after %" PRIu64 " samples", samples);
	sample_faults(watch.fd, 1);
	if (!seek(&watch, 0, &record) || record.type != PERF_RECORD_LOST)
		broken("first record after space was freed: type=%u want=2", record.type);
	if (!seek(&watch, 0, &record) || record.type != PERF_RECORD_SAMPLE)
		broken("second record after space was freed: type=%u want=9", record.type);
}

TEST(record_carries_id)
{
	struct perf_event_attr attr = faults_with(PERF_FORMAT_ID);
	struct watch watch = must_watch(&attr, 0, -1, 1);
	uint64_t samples = 0, id = 0;
	struct pm_counts counts;

	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(watch.ring.data_size / 16 + EXTRA));
	drain(_metadata, &watch, &samples, &id);
	ASSERT_EQ(0, cause_faults(1));
	drain(_metadata, &watch, &samples, &id);
	ASSERT_EQ(0, pm_read_counts(watch.fd, PERF_FORMAT_ID, &counts));
	if (!id || id != counts.member[0].id)
		broken("LOST names id=%" PRIu64 ", the event's is %" PRIu64, id,
		       counts.member[0].id);
}

/* Drive an event with PERF_FORMAT_LOST and hold its number against the ring. */
static void compare_lost(struct __test_metadata *_metadata, struct watch *watch,
			 unsigned int faults, uint64_t *samples, uint64_t least)
{
	struct pm_counts counts;
	uint64_t id;
	int error;

	must_ioctl(watch->fd, PERF_EVENT_IOC_ENABLE, 0);
	error = cause_faults(faults);
	must_ioctl(watch->fd, PERF_EVENT_IOC_DISABLE, 0);
	drain(_metadata, watch, samples, &id);
	if (!error)
		error = pm_read_counts(watch->fd, PERF_FORMAT_LOST, &counts);
	if (error)
		cannot_tell("reading with PERF_FORMAT_LOST: %s", errno_name(error));
	if (counts.member[0].lost < least ||
	    *samples + counts.member[0].lost != counts.member[0].value)
		broken("samples=%" PRIu64 " lost=%" PRIu64 " counted=%" PRIu64, *samples,
		       counts.member[0].lost, counts.member[0].value);
}

TEST(format_is_exact)
{
	struct perf_event_attr without = faults_with(0), with = faults_with(PERF_FORMAT_LOST);
	struct watch watch = ask_watch(&with, &without, 0, -1, 1, "PERF_FORMAT_LOST");
	uint64_t samples = 0;

	compare_lost(_metadata, &watch, watch.ring.data_size / 16 + EXTRA, &samples, EXTRA);
}

TEST(format_counts_pause)
{
	struct perf_event_attr without = faults_with(0), with = faults_with(PERF_FORMAT_LOST);
	struct watch watch = ask_watch(&with, &without, 0, -1, 1, "PERF_FORMAT_LOST");
	uint64_t samples = 0, id;

	ask_ioctl(watch.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, "PAUSE_OUTPUT");
	compare_lost(_metadata, &watch, EXTRA, &samples, EXTRA);
	must_ioctl(watch.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	fact_int("lost_of_pause_record", drain(_metadata, &watch, &samples, &id));
}

PROBE_MAIN
