/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are call chains complete, marked, and cut where they were asked to be?
 * Observed: a recursion of known depth, with frame pointers, touches a page at its bottom.
 */
#include "probe.h"

PROBE(TITLE("call chains of samples")
      SINCE("2.6.31")
      POINT(user, "the chain begins with CONTEXT_USER and the sample's own address")
      POINT(depth, "a recursion of 20 calls with frame pointers gives at least 20 frames")
      POINT(kernel_first, "with the kernel included, CONTEXT_KERNEL comes before CONTEXT_USER")
      NEEDS("root")
      POINT(exclude_both, "excluding both halves leaves a chain of nothing")
      SINCE("3.7")
      POINT(exclude_user, "exclude_callchain_user leaves no user frame")
      SINCE("3.7")
      POINT(max_stack, "sample_max_stack=4 gives at most 4 frames")
      SINCE("4.8")
      POINT(other_task, "an event on another task has that task's user frames")
      FACT(frames, int, "frames", "user frames of a recursion of 20 calls"))

/* Asking for the frame address keeps the frame pointer, whatever the compiler's options. */
static __attribute__((noinline)) uintptr_t recurse(volatile char *page, unsigned int depth)
{
	volatile uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (depth)
		frame += recurse(page, depth - 1);
	else
		page[0] = 1;
	return frame;
}

static char *fresh_page(void)
{
	return mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static struct perf_event_attr attr_chain(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR |
						  PERF_SAMPLE_CALLCHAIN);

	attr.exclude_callchain_kernel = 1;
	return attr;
}

/* The sample of the page touched under the recursion. The watch stays open: it holds the chain. */
static struct pm_sample sample_of(struct __test_metadata *_metadata, struct watch *watch,
				  unsigned int depth)
{
	char *page = fresh_page();
	struct pm_record record;

	must_ioctl(watch->fd, PERF_EVENT_IOC_ENABLE, 0);
	recurse(page, depth);
	must_ioctl(watch->fd, PERF_EVENT_IOC_DISABLE, 0);
	while (seek(watch, PERF_RECORD_SAMPLE, &record))
		if (record.sample.addr == (uintptr_t)page)
			return record.sample;
	broken("no sample of the page fault");
}

struct frames {
	unsigned int user, kernel, user_at, kernel_at;
};

/* Count the frames of each context and where its marker stands (0: nowhere). */
static struct frames count_frames(const struct pm_sample *sample)
{
	struct frames ret = { 0 };
	uint64_t context = 0;

	for (unsigned int i = 0; i < sample->callchain_nr; i++) {
		const uint64_t word = sample->callchain[i];

		if (word >= PERF_CONTEXT_MAX) {
			context = word;
			if (word == PERF_CONTEXT_USER)
				ret.user_at = i + 1;
			if (word == PERF_CONTEXT_KERNEL)
				ret.kernel_at = i + 1;
		} else if (context == PERF_CONTEXT_USER) {
			ret.user++;
		} else {
			ret.kernel++;
		}
	}
	return ret;
}

TEST(user)
{
	struct perf_event_attr attr = attr_chain();
	struct watch watch = must_watch(&attr, 0, -1, 2);
	struct pm_sample sample = sample_of(_metadata, &watch, 0);

	if (sample.callchain_nr < 2 || sample.callchain[0] != PERF_CONTEXT_USER)
		broken("words=%" PRIu64 " first=%#" PRIx64 " want CONTEXT_USER",
		       sample.callchain_nr, sample.callchain_nr ? sample.callchain[0] : 0);
	if (sample.callchain[1] != sample.ip)
		broken("first frame=%#" PRIx64 " ip=%#" PRIx64, sample.callchain[1], sample.ip);
}

TEST(depth)
{
	struct perf_event_attr attr = attr_chain();
	struct watch watch = must_watch(&attr, 0, -1, 2);
	struct pm_sample sample = sample_of(_metadata, &watch, 20);
	struct frames frames = count_frames(&sample);

	fact_int("frames", frames.user);
	if (frames.user < 20)
		broken("frames=%u want>=20", frames.user);
}

TEST(kernel_first)
{
	struct perf_event_attr attr = attr_chain();
	char *page = fresh_page();
	struct pm_record record;
	struct frames frames;
	struct watch watch;
	int ends[2];

	attr.exclude_kernel = attr.exclude_callchain_kernel = 0;
	watch = must_watch(&attr, 0, -1, 8);
	ASSERT_EQ(0, pipe(ends));
	ASSERT_EQ(1, write(ends[1], "x", 1));
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(1, read(ends[0], page, 1));
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	do
		if (!seek(&watch, PERF_RECORD_SAMPLE, &record))
			broken("no sample of a page fault in the kernel");
	while (record.sample.addr != (uintptr_t)page);
	frames = count_frames(&record.sample);
	if (!frames.kernel || !frames.user || frames.kernel_at != 1 ||
	    frames.user_at < frames.kernel_at)
		broken("kernel frames=%u marker at %u, user frames=%u marker at %u", frames.kernel,
		       frames.kernel_at, frames.user, frames.user_at);
}

TEST(exclude_both)
{
	struct perf_event_attr attr = attr_chain();
	struct watch control = must_watch(&attr, 0, -1, 2), watch;
	struct pm_sample sample = sample_of(_metadata, &control, 3);

	if (!count_frames(&sample).user)
		broken("no user frames even when they are asked for");
	attr.exclude_callchain_user = 1;
	watch = must_watch(&attr, 0, -1, 2);
	sample = sample_of(_metadata, &watch, 3);
	if (sample.callchain_nr)
		broken("words=%" PRIu64 " want=0", sample.callchain_nr);
}

TEST(exclude_user)
{
	struct perf_event_attr attr = attr_chain();
	struct watch control = must_watch(&attr, 0, -1, 2), watch;
	struct pm_sample sample = sample_of(_metadata, &control, 3);
	struct frames frames = count_frames(&sample);

	if (!frames.user)
		broken("no user frames even when they are asked for");
	attr.exclude_callchain_user = 1;
	attr.exclude_callchain_kernel = 0;
	watch = must_watch(&attr, 0, -1, 2);
	sample = sample_of(_metadata, &watch, 3);
	frames = count_frames(&sample);
	if (frames.user)
		broken("user frames=%u want=0", frames.user);
}

TEST(max_stack)
{
	struct perf_event_attr attr = attr_chain(), without = attr;
	struct pm_sample sample;
	struct frames frames;
	struct watch watch;

	watch = must_watch(&without, 0, -1, 2);
	sample = sample_of(_metadata, &watch, 20);
	if (count_frames(&sample).user < 5)
		cannot_tell("chains are no longer than 4 frames anyway");
	attr.sample_max_stack = 4;
	watch = ask_watch(&attr, &without, 0, -1, 2, "sample_max_stack");
	sample = sample_of(_metadata, &watch, 20);
	frames = count_frames(&sample);
	if (frames.user < 1 || frames.user > 4)
		broken("frames=%u want=1..4", frames.user);
}

static int fault_deep(void *gate)
{
	gate_wait(gate);
	recurse(fresh_page(), 10);
	return 0;
}

TEST(other_task)
{
	struct perf_event_attr attr = attr_chain();
	struct pm_record record;
	struct watch watch;
	struct gate gate;
	unsigned int deepest = 0;
	pid_t child;

	ASSERT_EQ(0, gate_init(&gate));
	child = start_child(fault_deep, &gate);
	ASSERT_LT(0, child);
	watch = must_watch(&attr, child, -1, 16);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	gate_open(&gate);
	ASSERT_EQ(0, wait_child(child));
	while (seek(&watch, PERF_RECORD_SAMPLE, &record)) {
		struct frames frames = count_frames(&record.sample);

		if (frames.user > deepest)
			deepest = frames.user;
	}
	if (deepest < 10)
		broken("deepest chain of the other task=%u want>=10", deepest);
}

PROBE_MAIN
