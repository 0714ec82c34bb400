/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does PERF_FORMAT_LOST tell how many samples found no room? A lossy ring can then still be
 * weighed, without waiting for a LOST record that needs room itself.
 * Observed: a one-page ring overflows; samples in it and lost ones must add up exactly.
 * Linux 119a784c8127 ("perf/core: Add a new read format to get a number of lost samples") (v6.0)
 */
#include "probe.h"

PROBE(TITLE("lost samples in read_format")
      SINCE("6.0")
      COMMIT("119a784c8127")
      POINT(nothing_lost, "0 while every sample found room")
      POINT(exact, "samples in the ring and lost ones add up to the count")
      POINT(own_member, "in a group the loss is booked on the member that lost")
      FACT(in_one_page, int, "records", "samples of 16 bytes that a ring of one page keeps"))

/* More samples of 16 bytes than one page holds, in steps that need little memory. */
static int overflow_one_page(void)
{
	int error = 0;

	for (size_t bytes = 0; bytes < 3 * probe_env()->page_size && !error; bytes += 16 * 100)
		error = cause_faults(100);
	return error;
}

static struct perf_event_attr sampling(uint64_t format)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.read_format = format;	/* and disabled until there is a ring */
	return attr;
}

TEST(nothing_lost)
{
	const struct perf_event_attr attr = sampling(PERF_FORMAT_LOST), without = sampling(0);
	struct sampler sampler = ask_sampler(&attr, &without, 0, -1, 1, "PERF_FORMAT_LOST");
	struct pm_counts counts;
	int samples;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(20));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	counts = must_counts(sampler.fd, PERF_FORMAT_LOST);
	samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	if (counts.member[0].lost || samples < 20)
		say_broken("lost=%" PRIu64 " with %d samples in the ring", counts.member[0].lost,
			   samples);
}

TEST(exact)
{
	const struct perf_event_attr attr = sampling(PERF_FORMAT_LOST), without = sampling(0);
	struct sampler sampler = ask_sampler(&attr, &without, 0, -1, 1, "PERF_FORMAT_LOST");
	struct pm_counts counts;
	int samples;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, overflow_one_page());
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	counts = must_counts(sampler.fd, PERF_FORMAT_LOST);
	samples = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	fact_int("in_one_page", samples);
	if (samples <= 0 || !counts.member[0].lost ||
	    samples + counts.member[0].lost != counts.member[0].value)
		say_broken("count=%" PRIu64 " in_ring=%d lost=%" PRIu64, counts.member[0].value,
			   samples, counts.member[0].lost);
}

TEST(own_member)
{
	const uint64_t format = PERF_FORMAT_LOST | PERF_FORMAT_GROUP;
	struct perf_event_attr attr = sampling(format);
	const struct perf_event_attr without = sampling(PERF_FORMAT_GROUP);
	int leader = ask_open(&attr, &without, 0, -1, "PERF_FORMAT_LOST"), sibling;
	struct pm_ring ring;
	struct pm_counts counts;

	sibling = must_open(&attr, 0, -1, leader, 0);
	must_map(sibling, 1, &ring);
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	ASSERT_EQ(0, overflow_one_page());
	must_ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	counts = must_counts(leader, format);
	/* The leader has no ring: its samples were never meant to be kept. */
	if (counts.nr != 2 || counts.member[0].lost || !counts.member[1].lost)
		say_broken("nr=%" PRIu64 " lost=%" PRIu64 " and %" PRIu64 ", want 0 and more",
			   counts.nr, counts.member[0].lost, counts.member[1].lost);
	if (count_records(&ring, PERF_RECORD_SAMPLE) + counts.member[1].lost !=
	    counts.member[1].value)
		say_broken("lost=%" PRIu64 " does not add up", counts.member[1].lost);
}

PROBE_MAIN
