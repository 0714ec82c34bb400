/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of the events that share a ring should be polled? Each of them reports the records of all,
 * but the ready flag belongs to the ring: whoever polls first takes it. So poll one of them.
 * Observed with polls that do not wait.
 */
#include "probe.h"
#include "redirection.h"
#include "waking.h"

PROBE(TITLE("polling a ring that several share")
      SINCE("2.6.35")
      POINT(target_reports_source, "poll of the target reports a sample of its source")
      POINT(source_reports_too, "poll of the source reports a sample of the source")
      POINT(flag_is_shared, "of two events that share a ring, the second to be polled does not "
	    "report what the first has"))

/* A sample of the source: the first poll reports it, the second finds the flag taken. */
static void first_then_second(int source, int first, int second)
{
	const int idle = poll_once(first, POLLIN, 0);
	int revents[2];

	cause_enabled_faults(source, 1);
	revents[0] = poll_once(first, POLLIN, 0);
	revents[1] = poll_once(second, POLLIN, 0);
	if (idle || revents[0] != POLLIN || revents[1])
		say_broken("revents=%#x idle, %#x after the sample, %#x from the other", idle,
			   revents[0], revents[1]);
}

TEST(target_reports_source)
{
	const struct perf_event_attr attr = attr_waking();
	const struct redirection pair = must_redirect(&attr);

	first_then_second(pair.source, pair.target.fd, pair.target.fd);
}

TEST(source_reports_too)
{
	const struct perf_event_attr attr = attr_waking();
	const struct redirection pair = must_redirect(&attr);

	first_then_second(pair.source, pair.source, pair.source);
}

TEST(flag_is_shared)
{
	const struct perf_event_attr attr = attr_waking();
	const struct redirection pair = must_redirect(&attr);

	first_then_second(pair.source, pair.target.fd, pair.source);
	first_then_second(pair.source, pair.source, pair.target.fd);
}

PROBE_MAIN
