/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does each member of a group sample at its own period? A leader that samples rarely may have a
 * sibling that samples every hit.
 * Observed: page faults, sampled by a leader and a sibling with other periods, each into its ring.
 */
#include "probe.h"

PROBE(TITLE("periods of the members of a group")
      SINCE("2.6.31")
      POINT(leader_keeps_its_own, "a leader samples at its period, whatever its sibling's is")
      POINT(sibling_keeps_its_own, "a sibling samples at its period, whatever its leader's is"))

#define FAULTS 60

static struct perf_event_attr attr_every(uint64_t period)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.sample_period = period;
	return attr;
}

/* How many samples leader and sibling have of FAULTS faults, at these periods. */
static void sample_both(uint64_t leading, uint64_t joining, int *samples)
{
	const struct perf_event_attr first = attr_every(leading);
	struct perf_event_attr second = attr_every(joining);
	struct sampler leader = must_sampler(&first, 0, -1, 2);
	struct pm_ring ring;
	int sibling;

	second.disabled = 0;
	sibling = must_open(&second, 0, -1, leader.fd, 0);
	must_map(sibling, 2, &ring);
	cause_faults_on(leader.fd, FAULTS);
	if (must_count(leader.fd) < FAULTS || must_count(sibling) < FAULTS)
		say_unknown("leader=%" PRIu64 " sibling=%" PRIu64 " of %d faults",
			    must_count(leader.fd), must_count(sibling), FAULTS);
	samples[0] = count_records(&leader.ring, PERF_RECORD_SAMPLE);
	samples[1] = count_records(&ring, PERF_RECORD_SAMPLE);
}

/* A fault more than was caused may be counted, and a period be under way at the end. */
static void expect_samples_at(uint64_t period, int samples, const char *whose)
{
	const int want = FAULTS / (int)period;

	if (samples < want - 1 || samples > want + 1)
		say_broken("samples of the %s=%d want=%d", whose, samples, want);
}

TEST(leader_keeps_its_own)
{
	int samples[2];

	sample_both(10, 3, samples);
	expect_samples_at(10, samples[0], "leader");
}

TEST(sibling_keeps_its_own)
{
	int samples[2];

	sample_both(10, 3, samples);
	expect_samples_at(3, samples[1], "sibling");
}

PROBE_MAIN
