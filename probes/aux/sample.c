/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a sample hold the trace of what led to it? PERF_SAMPLE_AUX copies the newest bytes of the
 * group leader's AUX area into the samples of a member: a short history instead of a long trace.
 * Observed: a counter of page faults is a member of a trace unit's group.
 */
#include "probe.h"
#include "finding.h"
#include "trace_unit.h"

PROBE(TITLE("AUX data in samples")
      SINCE("5.5")
      NEEDS("aux")
      POINT(samples_hold_trace, "PERF_SAMPLE_AUX puts trace into the samples of a group member"))

#define DATA_PAGES 8
#define AUX_PAGES 16

TEST(samples_hold_trace)
{
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_TID), with, trace;
	struct sampler leader, member = { .fd = -1 };
	struct pm_record record;
	uint64_t bytes = 0;
	char name[64];

	trace = must_trace(name);
	leader = must_sampler(&trace, 0, -1, DATA_PAGES);
	ask_aux(&leader, AUX_PAGES, PROT_READ);
	without.disabled = 0;
	with = without;
	with.sample_type |= PERF_SAMPLE_AUX;
	with.aux_sample_size = 256;
	close(must_open(&without, 0, -1, leader.fd, 0));
	member.fd = pm_open(&with, 0, -1, leader.fd, 0);
	if (member.fd < 0) {
		struct finding finding;

		classify_asked(-member.fd, "PERF_SAMPLE_AUX", &with, 0, -1, &finding);
		say(&finding);
	}
	must_map(member.fd, DATA_PAGES, &member.ring);
	pm_format_of(&with, &member.format);
	cause_enabled_faults(leader.fd, 20);
	while (find_record(&member, PERF_RECORD_SAMPLE, &record))
		bytes += record.sample.aux_size;
	if (!bytes)
		say_broken("20 samples hold no trace");
}

PROBE_MAIN
