/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of a source when the target's ring goes? It is cut off without being told, and
 * counts on: lost data that only looks like silence. Newer kernels say so to whoever polls it.
 * Observed by a new ring of the target, which stays empty, and by poll of the source.
 */
#include "probe.h"
#include "redirected.h"
#include "redirection.h"
#include "waiter.h"

PROBE(TITLE("a source whose target loses its ring")
      SINCE("2.6.35")
      POINT(counts_on_silently, "the source counts on, and a new ring of the target stays empty")
      POINT(source_polls_hup, "poll of the source reports POLLHUP")
      SINCE("3.18")
      POINT(source_returns, "the source can be redirected again, into the target's new ring"))

/* A pair that worked, its target's ring gone. */
static struct redirection cut_off(void)
{
	struct redirection pair = must_redirect_faults();
	const int revents = poll_once(pair.source, POLLIN, 0);

	if (revents)
		say_broken("revents=%#x while there was a ring", revents);
	pm_ring_close(&pair.target.ring);
	return pair;
}

TEST(counts_on_silently)
{
	struct redirection pair = cut_off();
	uint64_t counted = cause_enabled_faults(pair.source, 20), head[2];

	must_map(pair.target.fd, 2, &pair.target.ring);	/* of a size that shows it is new */
	head[0] = pm_ring_head(&pair.target.ring);
	counted += cause_enabled_faults(pair.source, 20);
	head[1] = pm_ring_head(&pair.target.ring);
	if (counted < 40 || head[0] || head[1])	/* more: faults that nobody meant */
		say_broken("counted=%" PRIu64 " want=40; a new ring has data_head=%" PRIu64
			   " then %" PRIu64 " want=0", counted, head[0], head[1]);
	expect_samples(pair.target.fd, &pair.target.ring, 9, "the target into its new ring");
}

TEST(source_polls_hup)
{
	struct redirection pair = cut_off();

	expect_hang_up(poll_once(pair.source, POLLIN, 0), "a source that is cut off");
}

TEST(source_returns)
{
	struct redirection pair = cut_off();

	must_map(pair.target.fd, 2, &pair.target.ring);
	expect_refused(pm_ioctl(pair.source, PERF_EVENT_IOC_SET_OUTPUT, pair.target.fd), 0, BROKEN,
		       "SET_OUTPUT of a source that was cut off");
	expect_samples(pair.source, &pair.target.ring, 20, "after the second SET_OUTPUT");
}

PROBE_MAIN
