/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does closing a descriptor do to a redirection? A source that is closed is gone, for nothing
 * else holds it; a target may be closed while its ring is mapped: a profiler of thousands of
 * events keeps few descriptors.
 * Observed by records in the target.
 */
#include "probe.h"
#include "redirected.h"
#include "redirection.h"

PROBE(TITLE("closing the ends of a redirection")
      SINCE("2.6.35")
      POINT(closed_source_stops, "a closed source writes no more; the target works on")
      POINT(closed_target_continues, "a target closed but mapped still receives"))

TEST(closed_source_stops)
{
	struct redirection pair = must_redirect_faults();
	int before, after;

	must_ioctl(pair.source, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(5));
	before = count_records(&pair.target.ring, PERF_RECORD_SAMPLE);
	if (before < 5)
		say_unknown("an enabled source wrote %d samples of 5", before);
	must_close(pair.source);
	count_records(&pair.target.ring, PERF_RECORD_SAMPLE);
	ASSERT_EQ(0, cause_faults(20));
	after = count_records(&pair.target.ring, PERF_RECORD_SAMPLE);
	if (after)
		say_broken("records=%d of a closed source", after);
	expect_samples(pair.target.fd, &pair.target.ring, 9, "the target, its source closed");
}

TEST(closed_target_continues)
{
	struct redirection pair = must_redirect_faults();

	must_close(pair.target.fd);
	expect_samples(pair.source, &pair.target.ring, 20, "into the ring of a closed target");
}

PROBE_MAIN
