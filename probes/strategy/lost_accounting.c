/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a library tell exactly how many samples it has lost? PERF_FORMAT_LOST says so where the
 * kernel has it, LOST records elsewhere.
 * Observed: a ring of one page overflows; samples read and samples lost add up to the count.
 */
#include "probe.h"
#include "finding.h"

PROBE(TITLE("accounting for lost samples")
      SINCE("2.6.31")
      POINT(lost_accounting, "PERF_FORMAT_LOST, or LOST records, account for every lost sample")
      FACT(lost_by, enum, "-", "how loss is known: format (PERF_FORMAT_LOST), records"))

TEST(lost_accounting)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID), without = attr;
	struct pm_counts counts = { 0 };
	struct pm_record record;
	struct finding finding;
	struct sampler sampler;
	uint64_t seen = 0, lost = 0, total;
	bool format;

	attr.read_format = PERF_FORMAT_LOST;
	judge_pair(&attr, &without, 0, -1, "PERF_FORMAT_LOST", &finding);
	format = finding.verdict == YES;
	fact_str("lost_by", "%s", format ? "format" : "records");
	sampler = must_sampler(format ? &attr : &without, 0, -1, 1);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(2 * sampler.ring.data_size / 16));
	for (; find_record(&sampler, PERF_RECORD_SAMPLE, &record); seen++)
		;
	ASSERT_EQ(0, cause_faults(1));		/* a LOST record waits for the next one */
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (find_record(&sampler, 0, &record)) {
		lost += record.type == PERF_RECORD_LOST ? record.lost.lost : 0;
		seen += record.type == PERF_RECORD_SAMPLE;
	}
	ASSERT_EQ(0, pm_read_counts(sampler.fd, format ? PERF_FORMAT_LOST : 0, &counts));
	total = counts.member[0].value;
	if (format)
		lost = counts.member[0].lost;
	if (!lost || seen + lost != total)
		say_broken("faults=%" PRIu64 " samples=%" PRIu64 " lost=%" PRIu64, total, seen,
			   lost);
}

PROBE_MAIN
