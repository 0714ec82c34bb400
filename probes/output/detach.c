/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How is a redirection ended? SET_OUTPUT takes a descriptor, or -1 for none. The argument is a
 * long, so an unsigned int of a 64-bit program is another number. An event with a ring of its own
 * has nothing to be detached from.
 * Observed: records in the target; count and poll of the source.
 */
#include "probe.h"
#include "redirected.h"
#include "redirection.h"
#include "waiter.h"

PROBE(TITLE("ending a redirection of output")
      SINCE("2.6.35")
      POINT(stops_output, "SET_OUTPUT with a long -1 ends a redirection; the source counts on")
      POINT(source_polls_hup, "poll of a source that was detached reports POLLHUP")
      SINCE("3.18")
      POINT(mapped_is_refused, "EINVAL for detaching an event that has its own ring")
      POINT(narrow_minus_one_is_refused, "SET_OUTPUT of 0xffffffff in 64 bits is EBADF"))

static int detach(int event, unsigned long nothing)
{
	return pm_ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, nothing);
}

TEST(stops_output)
{
	struct redirection pair = must_redirect_faults();
	uint64_t counted;
	int found;

	expect_refused(detach(pair.source, -1ul), 0, BROKEN, "SET_OUTPUT with a long -1");
	counted = cause_enabled_faults(pair.source, 20);
	found = count_records(&pair.target.ring, PERF_RECORD_SAMPLE);
	if (counted != 20 || found)
		say_broken("counted=%" PRIu64 " want=20; records=%d want=0 in the target", counted,
			   found);
}

TEST(source_polls_hup)
{
	struct redirection pair = must_redirect_faults();
	const int before = poll_once(pair.source, POLLIN, 0);

	if (before)
		say_broken("revents=%#x while redirected", before);
	must_ioctl(pair.source, PERF_EVENT_IOC_SET_OUTPUT, -1ul);
	expect_hang_up(poll_once(pair.source, POLLIN, 0), "a detached source");
}

TEST(mapped_is_refused)
{
	struct redirection pair = must_redirect_faults();

	expect_refused(detach(pair.target.fd, -1ul), EINVAL, BROKEN,
		       "detaching an event with a ring");
	expect_samples(pair.target.fd, &pair.target.ring, 5, "its own ring after the refusal");
}

TEST(narrow_minus_one_is_refused)
{
	struct redirection pair = must_redirect_faults();

	if (sizeof(long) == 4)
		say_absent("a long of this program has 32 bits, so both are the same");
	expect_refused(detach(pair.source, 0xffffffff), EBADF, BROKEN, "0xffffffff as target");
	expect_samples(pair.source, &pair.target.ring, 5, "the redirection after the refusal");
}

PROBE_MAIN
