/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of the events that share a ring should be polled? Each of them reports the records of all,
 * but the ready flag belongs to the ring: whoever polls first takes it. So poll one of them.
 * Observed with polls that do not wait.
 */
#include "probe.h"

PROBE(TITLE("polling a ring that several share")
      SINCE("2.6.35")
      POINT(target_reports_source, "poll of the target reports a sample of its source")
      POINT(source_reports_too, "poll of the source reports it as well")
      POINT(flag_is_shared, "what one of them has reported the other does not report"))

FIXTURE(pair)
{
	int target, source;
};

FIXTURE_SETUP(pair)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair;

	attr.wakeup_events = 1;
	pair = must_redirect(&attr);
	self->target = pair.target.fd;
	self->source = pair.source;
}

FIXTURE_TEARDOWN(pair)
{
	close(self->source);
}

/* A sample of the source: the first poll reports it, the second finds the flag taken. */
static void first_then_second(struct __test_metadata *_metadata, int source, int first, int second)
{
	const int idle = poll_once(first, POLLIN, 0);
	int revents[2];

	sample_faults(source, 1);
	revents[0] = poll_once(first, POLLIN, 0);
	revents[1] = poll_once(second, POLLIN, 0);
	if (idle || revents[0] != POLLIN || revents[1])
		broken("revents=%#x idle, %#x after the sample, %#x from the other", idle,
		       revents[0], revents[1]);
}

TEST_F(pair, target_reports_source)
{
	first_then_second(_metadata, self->source, self->target, self->target);
}

TEST_F(pair, source_reports_too)
{
	first_then_second(_metadata, self->source, self->source, self->source);
}

TEST_F(pair, flag_is_shared)
{
	first_then_second(_metadata, self->source, self->target, self->source);
	first_then_second(_metadata, self->source, self->source, self->target);
}

PROBE_MAIN
