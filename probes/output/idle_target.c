/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Must the target of a redirection run? No: a disabled event or a dummy can own the ring, and what
 * it receives is not counted as its own. A profiler gives a ring to each CPU that way.
 * Observed: records in the target's ring.
 */
#include "probe.h"
#include "redirected.h"
#include "redirection.h"

PROBE(TITLE("targets that do not run")
      SINCE("2.6.35")
      POINT(disabled_receives, "a target that is disabled receives its source's records")
      POINT(sideband_receives, "a dummy event that counts nothing receives its source's records")
      POINT(does_not_count, "a target does not count what it receives"))

TEST(disabled_receives)
{
	struct redirection pair = must_redirect_faults();

	must_samples(pair.target.fd, &pair.target.ring, 5, "enabled");
	must_ioctl(pair.target.fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_samples(pair.source, &pair.target.ring, 20, "into the ring of a disabled target");
}

TEST(sideband_receives)
{
	struct redirection pair = must_redirect_faults();
	struct perf_event_attr attr = attr_sideband();
	struct sampler dummy = must_sampler(&attr, 0, -1, 1);

	must_ioctl(pair.source, PERF_EVENT_IOC_SET_OUTPUT, dummy.fd);
	must_ioctl(dummy.fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_samples(pair.source, &dummy.ring, 20, "into the ring of a dummy");
}

TEST(does_not_count)
{
	struct redirection pair = must_redirect_faults();

	expect_samples(pair.source, &pair.target.ring, 20, "into the target");
	if (must_count(pair.target.fd))
		say_broken("the target counted %" PRIu64 " of 20", must_count(pair.target.fd));
}

PROBE_MAIN
