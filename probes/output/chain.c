/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far does a redirection reach? Into another event's ring; through an event that is redirected
 * itself, into the last ring of the chain; and elsewhere when it is asked for again.
 * Observed by the number of records in each ring.
 */
#include "probe.h"
#include "redirection.h"

PROBE(TITLE("redirections, chained and changed")
      SINCE("2.6.35")
      POINT(one_link, "the records of one event land in the ring of another of the same task")
      POINT(two_links, "into an event that is itself redirected: the last ring gets the records")
      POINT(switches_target, "a redirected event may be redirected elsewhere"))

FIXTURE(pair)
{
	struct perf_event_attr attr;
	struct redirection pair;
};

FIXTURE_SETUP(pair)
{
	self->attr = attr_faults(PERF_SAMPLE_TID);
	self->pair = must_redirect(&self->attr);
}

FIXTURE_TEARDOWN(pair)
{
	close(self->pair.source);
}

static void redirect(int source, int target)
{
	expect_refused(pm_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target), 0, BROKEN,
		       "SET_OUTPUT");
}

TEST_F(pair, one_link)
{
	expect_samples(self->pair.source, &self->pair.target.ring, 9, "redirected");
}

TEST_F(pair, two_links)
{
	int first = must_open(&self->attr, 0, -1, -1, 0);

	redirect(first, self->pair.source);
	expect_samples(first, &self->pair.target.ring, 9, "redirected twice");
}

TEST_F(pair, switches_target)
{
	struct sampler other = must_sampler(&self->attr, 0, -1, 1);

	expect_samples(self->pair.source, &self->pair.target.ring, 4, "into the first ring");
	redirect(self->pair.source, other.fd);
	expect_samples(self->pair.source, &other.ring, 9, "into the second ring");
	if (count_records(&self->pair.target.ring, 0))
		say_broken("the first ring still gets records");
}

PROBE_MAIN
