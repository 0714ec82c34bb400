/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of a source when the target's ring goes? It is cut off without being told, and
 * counts on: lost data that only looks like silence. Newer kernels say so to whoever polls it.
 * Observed by a new ring of the target, which stays empty, and by poll of the source.
 */
#include "probe.h"

PROBE(TITLE("a source whose target loses its ring")
      SINCE("2.6.35")
      POINT(counts_on_silently, "the source counts on, and a new ring of the target stays empty")
      POINT(source_polls_hup, "poll of the source reports POLLHUP")
      SINCE("3.18")
      POINT(source_returns, "the source can be redirected again, into the target's new ring"))

FIXTURE(pair)
{
	struct watch target;
	int source, before;
};

FIXTURE_SETUP(pair)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	const struct redirection pair = must_redirect(&attr);

	self->target = pair.target;
	self->source = pair.source;
	must_sample(self->source, &self->target.ring, 5, "redirected");
	self->before = poll_once(self->source, POLLIN, 0);
	pm_ring_close(&self->target.ring);
}

FIXTURE_TEARDOWN(pair)
{
	close(self->target.fd);
}

TEST_F(pair, counts_on_silently)
{
	uint64_t counted = sample_faults(self->source, 20), head[2];

	must_map(self->target.fd, 2, &self->target.ring);	/* of a size that shows it is new */
	head[0] = pm_ring_head(&self->target.ring);
	counted += sample_faults(self->source, 20);
	head[1] = pm_ring_head(&self->target.ring);
	if (counted != 40 || head[0] || head[1])
		broken("counted=%" PRIu64 " want=40; a new ring has data_head=%" PRIu64
		       " then %" PRIu64 " want=0", counted, head[0], head[1]);
	hold_samples(self->target.fd, &self->target.ring, 9, "the target into its new ring");
}

TEST_F(pair, source_polls_hup)
{
	if (self->before)
		broken("revents=%#x while there was a ring", self->before);
	hold_hang_up(poll_once(self->source, POLLIN, 0), "a source that is cut off");
}

TEST_F(pair, source_returns)
{
	must_map(self->target.fd, 2, &self->target.ring);
	hold_rule(pm_ioctl(self->source, PERF_EVENT_IOC_SET_OUTPUT, self->target.fd), 0, BROKEN,
		  "SET_OUTPUT of a source that was cut off");
	hold_samples(self->source, &self->target.ring, 20, "after the second SET_OUTPUT");
}

PROBE_MAIN
