/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are call chains cut where the attr asks for it? Short chains make small records.
 * Observed: the same recursion with a whole chain and with a shortened one; the whole one shows
 * that there was something to cut. A kernel older than sample_max_stack may take it unread: one
 * that knows the field refuses a value above kernel.perf_event_max_stack.
 */
#include "probe.h"
#include "callchain.h"

PROBE(TITLE("call chains cut to size")
      SINCE("2.6.31")
      POINT(exclude_both, "with both halves excluded the chain is empty")
      SINCE("3.7")
      POINT(exclude_user, "exclude_callchain_user leaves no user frame")
      SINCE("3.7")
      POINT(exclude_kernel, "exclude_callchain_kernel leaves the user frames of a fault in the "
			    "kernel, and no kernel frame")
      SINCE("3.7")
      NEEDS("root")
      POINT(max_stack, "sample_max_stack=4 leaves the innermost 4 frames of a deeper chain")
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

/* The sample of a page that the kernel touches for this thread, in read(2). */
static struct pm_sample sample_kernel(struct sampler *sampler)
{
	char *page = fresh_page();
	struct pm_record record;
	int ends[2];

	ASSERT_EQ(0, pipe(ends));
	ASSERT_EQ(1, write(ends[1], "x", 1));
	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(1, read(ends[0], page, 1));
	must_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	do
		if (!find_record(sampler, PERF_RECORD_SAMPLE, &record))
			say_broken("no sample of a page fault in the kernel");
	while (record.sample.addr != (uintptr_t)page);
	return record.sample;
}

TEST(exclude_kernel)
{
	struct perf_event_attr attr = attr_chain();
	struct sampler control, sampler;
	struct pm_sample sample;
	struct frames frames;

	attr.exclude_kernel = attr.exclude_callchain_kernel = 0;
	control = must_sampler(&attr, 0, -1, 8);
	sample = sample_kernel(&control);
	frames = count_frames(&sample);
	if (!frames.kernel || !frames.user)
		say_broken("kernel frames=%u user frames=%u when both are asked for",
			   frames.kernel, frames.user);
	attr.exclude_callchain_kernel = 1;
	sampler = must_sampler(&attr, 0, -1, 8);
	sample = sample_kernel(&sampler);
	frames = count_frames(&sample);
	if (frames.kernel || !frames.user)
		say_broken("kernel frames=%u want=0, user frames=%u", frames.kernel, frames.user);
}

/* Whether the kernel reads sample_max_stack: it then refuses more than the sysctl allows. */
static bool reads_max_stack(struct perf_event_attr attr)
{
	int64_t most = 127;
	int fd;

	pm_read_number("/proc/sys/kernel/perf_event_max_stack", &most);
	if (most >= UINT16_MAX)
		return true;
	attr.sample_max_stack = UINT16_MAX;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

TEST(max_stack)
{
	struct perf_event_attr attr = attr_chain(), without = attr;
	struct recursion recursion;
	struct pm_sample sample;
	struct frames frames;
	struct sampler sampler;

	sampler = must_sampler(&without, 0, -1, 2);
	sample = sample_chain(&sampler, DEEPEST);
	if (count_frames(&sample).user < 5)
		say_unknown("chains are no longer than 4 frames anyway");
	attr.sample_max_stack = 4;
	sampler = ask_sampler(&attr, &without, 0, -1, 2, "sample_max_stack");
	sample = sample_recursion(&sampler, &recursion, DEEPEST);
	frames = count_frames(&sample);
	if (frames.user > 4 && !reads_max_stack(attr))
		say_no("sample_max_stack is taken unread: 65535 is accepted as well");
	if (frames.user != 4)
		say_broken("frames=%u want=4", frames.user);
	expect_frames(&sample, &recursion, 3);
}

PROBE_MAIN
