/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is blamed for what a shared ring had no room for? PERF_FORMAT_LOST counts on the event that
 * lost; the LOST record is written with the next record that fits, and names that one's event, so
 * a reader who goes by records blames the innocent.
 * Observed: the source fills the ring and loses, then the target writes one record.
 * Linux commit 119a784c8127 ("perf/core: Add a new read format to get a number of lost samples")
 * (v6.0)
 */
#include "probe.h"

PROBE(TITLE("losses of several events in one ring")
      SINCE("6.0")
      COMMIT("119a784c8127")
      POINT(is_per_event, "PERF_FORMAT_LOST counts on the event that lost, not the target")
      FACT(lost_record_blames, enum, "-", "who the LOST record names when the source lost: "
	   "source, target (the next that wrote), or other"))

#define RECORD 24			/* a header, process and thread, id */
#define EXTRA 10

TEST(is_per_event)
{
	const uint64_t read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	struct perf_event_attr with = attr_faults(PERF_SAMPLE_TID | PERF_SAMPLE_ID), without;
	struct pm_counts target, source;
	struct pm_record record;
	struct sampler sampler;
	int fd;

	with.sample_id_all = 1;
	with.read_format = PERF_FORMAT_ID;
	without = with;
	with.read_format = read_format;
	sampler = ask_sampler(&with, &without, 0, -1, 1, "PERF_FORMAT_LOST");
	fd = must_open(&with, 0, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, sampler.fd);
	cause_faults_on(fd, sampler.ring.data_size / RECORD + EXTRA);
	count_records(&sampler.ring, 0);
	cause_faults_on(sampler.fd, 1);
	target = must_counts(sampler.fd, read_format);
	source = must_counts(fd, read_format);
	if (find_record(&sampler, PERF_RECORD_LOST, &record))
		fact_str("lost_record_blames", "%s",
			 record.lost.id == source.member[0].id ? "source" :
			 record.lost.id == target.member[0].id ? "target" : "other");
	if (target.member[0].lost || source.member[0].lost < EXTRA)
		say_broken("lost=%" PRIu64 " on the target, %" PRIu64
			   " on the source that lost >= %d",
			   target.member[0].lost, source.member[0].lost, EXTRA);
}

PROBE_MAIN
