/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are call chains complete, right and marked: user and kernel frames, this task's and another's?
 * Observed: a recursion with frame pointers touches a page at its bottom, and notes where each of
 * its calls returns to. The chain of the fault's sample is compared frame by frame.
 */
#include "probe.h"
#include "callchain.h"
#include "waiter.h"

PROBE(TITLE("call chains of samples")
      SINCE("2.6.31")
      POINT(user, "the chain begins with CONTEXT_USER and the sample's own address")
      POINT(depth, "each call of a recursion of 20 is a frame, with its true return address")
      POINT(kernel_first, "with the kernel included, CONTEXT_KERNEL comes before CONTEXT_USER")
      NEEDS("root")
      POINT(other_task, "the chain of another task has a frame for each call of its recursion"))

TEST(user)
{
	struct perf_event_attr attr = attr_chain();
	struct sampler sampler = must_sampler(&attr, 0, -1, 2);
	struct pm_sample sample = sample_chain(&sampler, 0);

	if (sample.callchain_nr < 2 || sample.callchain[0] != PERF_CONTEXT_USER)
		say_broken("words=%" PRIu64 " first=%#" PRIx64 " want CONTEXT_USER",
			   sample.callchain_nr, sample.callchain_nr ? sample.callchain[0] : 0);
	if (sample.callchain[1] != sample.ip)
		say_broken("first frame=%#" PRIx64 " ip=%#" PRIx64, sample.callchain[1], sample.ip);
}

TEST(depth)
{
	struct perf_event_attr attr = attr_chain();
	struct sampler sampler = must_sampler(&attr, 0, -1, 2);
	struct recursion recursion;
	struct pm_sample sample = sample_recursion(&sampler, &recursion, DEEPEST);

	expect_frames(&sample, &recursion, DEEPEST + 1);
}

TEST(kernel_first)
{
	struct perf_event_attr attr = attr_chain();
	char *page = fresh_page();
	struct pm_record record;
	struct frames frames;
	struct sampler sampler;
	int ends[2];

	attr.exclude_kernel = attr.exclude_callchain_kernel = 0;
	sampler = must_sampler(&attr, 0, -1, 8);
	ASSERT_EQ(0, pipe(ends));
	ASSERT_EQ(1, write(ends[1], "x", 1));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(1, read(ends[0], page, 1));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	do
		if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
			say_broken("no sample of a page fault in the kernel");
	while (record.sample.addr != (uintptr_t)page);
	frames = count_frames(&record.sample);
	if (!frames.kernel || !frames.user || frames.kernel_at != 1 ||
	    frames.user_at < frames.kernel_at)
		say_broken("kernel frames=%u marker at %u, user frames=%u marker at %u",
			   frames.kernel, frames.kernel_at, frames.user, frames.user_at);
}

/* What a child is to do, and what it tells of it: in memory that both have. */
struct order {
	struct gate go;
	struct recursion recursion;
};

static int fault_deep(void *argument)
{
	struct order *order = argument;

	gate_wait(&order->go);
	recurse(&order->recursion, 10);
	return 0;
}

TEST(other_task)
{
	struct perf_event_attr attr = attr_chain();
	struct order *order = (struct order *)fresh_page();
	struct pm_record record;
	struct sampler sampler;
	pid_t child;

	order->recursion.page = fresh_page();
	ASSERT_EQ(0, gate_init(&order->go));
	child = start_child(fault_deep, order);
	ASSERT_LT(0, child);
	sampler = must_run_sampler(&attr, child, -1, 16);
	gate_open(&order->go);
	ASSERT_EQ(0, wait_child(child));
	do
		if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
			say_broken("no sample of the page that the other task touched");
	while (record.sample.addr != (uintptr_t)order->recursion.page);
	expect_frames(&record.sample, &order->recursion, 11);
}

PROBE_MAIN
