/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do close and munmap do to a redirection? A source that is closed is gone, because nothing
 * else holds it. A target may be closed while its ring is mapped, so a profiler of thousands of
 * events keeps few descriptors. A source that had a ring of its own may be redirected once that
 * ring is unmapped.
 * Observed: records in the target's ring.
 */
#include "probe.h"
#include "redirected.h"
#include "redirection.h"

PROBE(TITLE("closing the ends of a redirection")
      SINCE("2.6.35")
      POINT(closed_source_stops, "a closed source writes no more; the target goes on")
      POINT(closed_target_continues, "a target that is closed but mapped still receives records")
      POINT(unmapped_source, "a source is refused while it is mapped, accepted after its munmap"))

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

TEST(unmapped_source)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair = must_redirect_faults();
	struct sampler source = must_sampler(&attr, 0, -1, 1);

	expect_refused(pm_ioctl(source.fd, PERF_EVENT_IOC_SET_OUTPUT, pair.target.fd), EINVAL,
		       BROKEN, "a source that is mapped");
	pm_ring_close(&source.ring);
	expect_refused(pm_ioctl(source.fd, PERF_EVENT_IOC_SET_OUTPUT, pair.target.fd), 0, BROKEN,
		       "a source that is mapped no longer");
	expect_samples(source.fd, &pair.target.ring, 20, "a source that was mapped before");
}

PROBE_MAIN
