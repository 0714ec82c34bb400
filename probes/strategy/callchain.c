/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a library get call chains without any privilege? Both the event and the chain have to leave
 * the kernel out then.
 * Observed: a recursion that notes where its calls return to touches a page; the chain of the
 * sample is compared with it frame by frame.
 */
#include "probe.h"
#include "callchain.h"

PROBE(TITLE("call chains without privilege")
      SINCE("3.7")
      POINT(callchain, "with exclude_kernel and exclude_callchain_kernel a chain has the true user "
		       "frames"))

TEST(callchain)
{
	const struct perf_event_attr attr = attr_chain();
	struct sampler sampler = must_sampler(&attr, 0, -1, 2);
	struct recursion recursion;
	struct pm_sample sample = sample_recursion(&sampler, &recursion, 5);

	if (sample.callchain_nr < 2 || sample.callchain[0] != PERF_CONTEXT_USER)
		say_broken("words=%" PRIu64 ", the first is not CONTEXT_USER", sample.callchain_nr);
	expect_frames(&sample, &recursion, HAVE_FRAMES ? 6 : 0);
}

PROBE_MAIN
