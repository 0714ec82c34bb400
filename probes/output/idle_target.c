/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Must a target run itself? No: a disabled event or a dummy will do as the leader of a ring, and
 * what it receives is not counted as its own. That is how a profiler gives a ring to each CPU.
 * Observed by records in the target's ring.
 */
#include "probe.h"

PROBE(TITLE("targets that do not run")
      SINCE("2.6.35")
      POINT(disabled_receives, "a target that is disabled receives its source's records")
      POINT(sideband_receives, "so does a dummy event that counts nothing")
      POINT(does_not_count, "a target does not count what it receives"))

FIXTURE(pair)
{
	struct watch target;
	int source;
};

FIXTURE_SETUP(pair)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	const struct redirection pair = must_redirect(&attr);

	self->target = pair.target;
	self->source = pair.source;
}

FIXTURE_TEARDOWN(pair)
{
	close(self->source);
}

TEST_F(pair, disabled_receives)
{
	must_sample(self->target.fd, &self->target.ring, 5, "enabled");
	must_ioctl(self->target.fd, PERF_EVENT_IOC_DISABLE, 0);
	hold_samples(self->source, &self->target.ring, 20, "into the ring of a disabled target");
}

TEST_F(pair, sideband_receives)
{
	struct perf_event_attr attr = attr_sideband();
	struct watch dummy = must_watch(&attr, 0, -1, 1);

	must_ioctl(self->source, PERF_EVENT_IOC_SET_OUTPUT, dummy.fd);
	must_ioctl(dummy.fd, PERF_EVENT_IOC_ENABLE, 0);
	hold_samples(self->source, &dummy.ring, 20, "into the ring of a dummy");
}

TEST_F(pair, does_not_count)
{
	hold_samples(self->source, &self->target.ring, 20, "into the target");
	if (must_count(self->target.fd))
		broken("the target counted %" PRIu64 " of 20", must_count(self->target.fd));
}

PROBE_MAIN
