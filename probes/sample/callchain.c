/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are call chains complete and marked: user and kernel frames, this task's and another's?
 * Observed: a recursion of known depth, with frame pointers, touches a page at its bottom.
 */
#include "probe.h"
#include "callchain.h"
#include "waiter.h"

PROBE(TITLE("call chains of samples")
      SINCE("2.6.31")
      POINT(user, "the chain begins with CONTEXT_USER and the sample's own address")
      POINT(depth, "a recursion of 20 calls with frame pointers gives at least 20 frames")
      POINT(kernel_first, "with the kernel included, CONTEXT_KERNEL comes before CONTEXT_USER")
      NEEDS("root")
      POINT(other_task, "an event on another task has that task's user frames")
      FACT(frames, int, "frames", "user frames of a recursion of 20 calls"))

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
	struct pm_sample sample = sample_chain(&sampler, 20);
	struct frames frames = count_frames(&sample);

	fact_int("frames", frames.user);
	if (frames.user < 20)
		say_broken("frames=%u want>=20", frames.user);
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

struct order {
	struct gate go;
	char *page;
};

static int fault_deep(void *argument)
{
	struct order *order = argument;

	gate_wait(&order->go);
	recurse(order->page, 10);
	return 0;
}

TEST(other_task)
{
	struct perf_event_attr attr = attr_chain();
	struct pm_record record;
	struct sampler sampler;
	struct order order = { .page = fresh_page() };
	unsigned int deepest = 0;
	pid_t child;

	ASSERT_EQ(0, gate_init(&order.go));
	child = start_child(fault_deep, &order);
	ASSERT_LT(0, child);
	sampler = must_run_sampler(&attr, child, -1, 16);
	gate_open(&order.go);
	ASSERT_EQ(0, wait_child(child));
	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record)) {
		struct frames frames = count_frames(&record.sample);

		if (frames.user > deepest)
			deepest = frames.user;
	}
	if (deepest < 10)
		say_broken("deepest chain of the other task=%u want>=10", deepest);
}

PROBE_MAIN
