/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a sample hold the trace of what led to it? PERF_SAMPLE_AUX copies the newest bytes of the
 * group leader's AUX area into the samples of a member: a short history instead of a long trace.
 * Observed: a counter of page faults is a member of a trace unit's group. Each sample has as many
 * bytes as were asked for, or none, and what it has stands in the area as well.
 * Linux commit a4faf00d994c ("perf/aux: Allow using AUX data in perf samples") (v5.5)
 */
#include "probe.h"
#include "finding.h"
#include "trace_unit.h"

PROBE(TITLE("AUX data in samples")
      SINCE("5.5")
      COMMIT("a4faf00d994c")
      NEEDS("aux")
      POINT(samples_hold_trace, "PERF_SAMPLE_AUX puts trace into the samples of a group member"))

#define DATA_PAGES 8
#define AUX_PAGES 16
#define ASKED 256	/* bytes of trace in a sample */
#define ROUNDS 5	/* what is written after a late sample may overwrite its trace */

struct seen {
	unsigned int samples, odd, blank, copied;
	uint64_t odd_size;
};

static bool is_blank(const unsigned char *bytes)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, ASKED - 1);
}

/* The area is a ring: what begins at its end goes on at its start. */
static bool stands_in(const unsigned char *area, const unsigned char *bytes)
{
	const size_t size = AUX_PAGES * probe_env()->page_size;

	for (size_t at = 0; at < size; at++) {
		const size_t first = size - at < ASKED ? size - at : ASKED;

		if (!memcmp(area + at, bytes, first) && !memcmp(area, bytes + first, ASKED - first))
			return true;
	}
	return false;
}

static void look(struct sampler *member, const void *area, struct seen *seen)
{
	struct pm_record record;

	while (find_record(member, PERF_RECORD_SAMPLE, &record)) {
		const struct pm_sample *sample = &record.sample;

		if (!sample->aux_size)
			continue;
		seen->samples++;
		if (sample->aux_size != ASKED) {
			seen->odd++;
			seen->odd_size = sample->aux_size;
		} else if (is_blank(sample->aux)) {
			seen->blank++;
		} else if (!seen->copied) {
			seen->copied = stands_in(area, sample->aux);
		}
	}
}

TEST(samples_hold_trace)
{
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TID), with, trace;
	struct sampler leader, member = { .fd = -1 };
	struct seen seen = { 0 };
	const void *area;
	char name[64];

	trace = must_trace(name);
	leader = must_sampler(&trace, 0, -1, DATA_PAGES);
	area = ask_aux(&leader, AUX_PAGES, PROT_READ);
	without.disabled = 0;
	with = without;
	with.sample_type |= PERF_SAMPLE_AUX;
	with.aux_sample_size = ASKED;
	close(must_open(&without, 0, -1, leader.fd, 0));
	member.fd = pm_open(&with, 0, -1, leader.fd, 0);
	if (member.fd < 0) {
		struct finding finding;

		classify_asked(-member.fd, "PERF_SAMPLE_AUX", &with, 0, -1, &finding);
		say(&finding);
	}
	must_map(member.fd, DATA_PAGES, &member.ring);
	pm_format_of(&with, &member.format);
	for (int round = 0; round < ROUNDS && !seen.odd && !seen.copied; round++) {
		cause_enabled_faults(leader.fd, 20);
		look(&member, area, &seen);
	}
	if (!seen.samples || seen.blank == seen.samples)
		say_broken("no sample has trace; %u have zeros alone", seen.blank);
	if (seen.odd)
		say_broken("%u of %u samples have %" PRIu64 " bytes, not %d", seen.odd,
			   seen.samples, seen.odd_size, ASKED);
	if (!seen.copied)
		say_broken("the trace of %u samples does not stand in the area", seen.samples);
}

PROBE_MAIN
