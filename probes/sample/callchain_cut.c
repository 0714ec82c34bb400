/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are call chains cut where they were asked to be? Short chains make small records.
 * Observed: the same recursion with whole and with shortened chains; the whole one shows that there
 * was something to cut.
 */
#include "probe.h"
#include "callchain.h"

PROBE(TITLE("call chains cut to size")
      SINCE("2.6.31")
      POINT(exclude_both, "excluding both halves leaves a chain of nothing")
      SINCE("3.7")
      POINT(exclude_user, "exclude_callchain_user leaves no user frame")
      SINCE("3.7")
      POINT(max_stack, "sample_max_stack=4 gives at most 4 frames")
      SINCE("4.8"))

TEST(exclude_both)
{
	struct perf_event_attr attr = attr_chain();
	struct sampler control = must_sampler(&attr, 0, -1, 2), sampler;
	struct pm_sample sample = sample_chain(&control, 3);

	if (!count_frames(&sample).user)
		say_broken("no user frames even when they are asked for");
	attr.exclude_callchain_user = 1;
	sampler = must_sampler(&attr, 0, -1, 2);
	sample = sample_chain(&sampler, 3);
	if (sample.callchain_nr)
		say_broken("words=%" PRIu64 " want=0", sample.callchain_nr);
}

TEST(exclude_user)
{
	struct perf_event_attr attr = attr_chain();
	struct sampler control = must_sampler(&attr, 0, -1, 2), sampler;
	struct pm_sample sample = sample_chain(&control, 3);
	struct frames frames = count_frames(&sample);

	if (!frames.user)
		say_broken("no user frames even when they are asked for");
	attr.exclude_callchain_user = 1;
	attr.exclude_callchain_kernel = 0;
	sampler = must_sampler(&attr, 0, -1, 2);
	sample = sample_chain(&sampler, 3);
	frames = count_frames(&sample);
	if (frames.user)
		say_broken("user frames=%u want=0", frames.user);
}

TEST(max_stack)
{
	struct perf_event_attr attr = attr_chain(), without = attr;
	struct pm_sample sample;
	struct frames frames;
	struct sampler sampler;

	sampler = must_sampler(&without, 0, -1, 2);
	sample = sample_chain(&sampler, 20);
	if (count_frames(&sample).user < 5)
		say_unknown("chains are no longer than 4 frames anyway");
	attr.sample_max_stack = 4;
	sampler = ask_sampler(&attr, &without, 0, -1, 2, "sample_max_stack");
	sample = sample_chain(&sampler, 20);
	frames = count_frames(&sample);
	if (frames.user < 1 || frames.user > 4)
		say_broken("frames=%u want=1..4", frames.user);
}

PROBE_MAIN
