/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * If two events sample the same hit, is each sample its own event's? A kernel that prepares the
 * sample once and reuses it (6.18 does, for software events) writes the first event's id into both.
 * Only the id is wrong: both events sample each hit, and fields that only one of them has are
 * right.
 * Observed: page faults and a breakpoint hit, with two events on each.
 */
#include "probe.h"
#include "breakpoint.h"

PROBE(TITLE("two events on one hit")
      SINCE("2.6.31")
      POINT(faults_both, "one page fault that two events sample is one sample in each ring")
      POINT(faults_own_id, "each of two events' samples of one page fault carries its own id")
      POINT(faults_own_period,
	    "of two events that sample one page fault, one with PERIOD has its own period")
      POINT(breakpoint_own_id, "each of two events' samples of one breakpoint hit has its own id"))

static volatile uint64_t watched;

struct pair {
	struct sampler samplers[2];
	uint64_t ids[2];
};

static struct pair watch_pair(struct perf_event_attr attr, uint64_t second_type)
{
	struct pair pair;

	for (int i = 0; i < 2; i++) {
		attr.read_format = PERF_FORMAT_ID;
		pair.samplers[i] = must_sampler(&attr, 0, -1, 2);
		pair.ids[i] = must_counts(pair.samplers[i].fd, PERF_FORMAT_ID).member[0].id;
		attr.sample_type |= second_type;
	}
	for (int i = 0; i < 2; i++)
		must_ioctl(pair.samplers[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	return pair;
}

static void must_own(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		struct pm_record record;
		int seen = 0;

		for (; find_record(&pair->samplers[i], PERF_RECORD_SAMPLE, &record); seen++)
			if (record.sample.sid.id != pair->ids[i])
				say_broken("event %d: id=%" PRIu64 " want=%" PRIu64
					   " (other event's=%" PRIu64 ")",
					   i, record.sample.sid.id, pair->ids[i], pair->ids[!i]);
		if (!seen)
			say_broken("event %d: no sample", i);
	}
}

TEST(faults_both)
{
	struct pair pair = watch_pair(attr_faults(PERF_SAMPLE_ID | PERF_SAMPLE_TID), 0);
	int samples[2];

	ASSERT_EQ(0, cause_faults(1));
	count_samples(&pair.samplers[0], 0);
	count_samples(&pair.samplers[1], 0);
	ASSERT_EQ(0, cause_faults(5));
	for (int i = 0; i < 2; i++)
		samples[i] = count_samples(&pair.samplers[i], pm_gettid());
	if (samples[0] != 5 || samples[1] != 5)
		say_broken("samples of this thread's 5 faults=%d,%d", samples[0], samples[1]);
}

TEST(faults_own_id)
{
	struct pair pair = watch_pair(attr_faults(PERF_SAMPLE_ID | PERF_SAMPLE_TID), 0);

	ASSERT_EQ(0, cause_faults(5));
	must_own(&pair);
}

TEST(faults_own_period)
{
	struct pair pair =
		watch_pair(attr_faults(PERF_SAMPLE_ID | PERF_SAMPLE_TID), PERF_SAMPLE_PERIOD);
	struct pm_record record;
	int seen = 0;

	ASSERT_EQ(0, cause_faults(5));
	for (; find_record(&pair.samplers[1], PERF_RECORD_SAMPLE, &record); seen++)
		if (record.size != 32 || record.sample.period != 1)
			say_broken("size=%u period=%" PRIu64 " want=32,1", record.size,
				   record.sample.period);
	if (!seen)
		say_broken("no sample");
}

TEST(breakpoint_own_id)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, 4);
	uint64_t hits = 0;
	struct pair pair;

	require(REQUIRE_BREAKPOINT);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ID | PERF_SAMPLE_TID;
	pair = watch_pair(attr, 0);
	watched = 1;
	for (int i = 0; i < 2; i++)
		hits += must_counts(pair.samplers[i].fd, PERF_FORMAT_ID).member[0].value;
	if (hits == 1)
		say_absent("this CPU reports one of two breakpoints at one address, as QEMU does");
	must_own(&pair);
}

PROBE_MAIN
