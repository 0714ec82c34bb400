/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What probes of call chains share: a page touched at the bottom of a recursion of known depth,
 * its sample, and the count of its frames. Included behind probe.h.
 */
#ifndef CALLCHAIN_H
#define CALLCHAIN_H

/* A page of this thread's own that nobody has touched. */
static inline char *fresh_page(void)
{
	char *page = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		say_unknown("mmap of a page: %s", pm_errno_name(errno));
	return page;
}

struct frames {
	unsigned int user, kernel, user_at, kernel_at;
};

/* s390 has no frame pointers: the kernel follows the back chain, for which one has to ask. */
#ifdef __s390x__
#define CHAINED __attribute__((noinline, target("backchain")))
#else
#define CHAINED __attribute__((noinline))
#endif

/* Asking for the frame address keeps the frame pointer, whatever the compiler's options. */
static CHAINED uintptr_t recurse(volatile char *page, unsigned int depth)
{
	volatile uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (depth)
		frame += recurse(page, depth - 1);
	else
		page[0] = 1;
	return frame;
}

static inline struct perf_event_attr attr_chain(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR |
						  PERF_SAMPLE_CALLCHAIN);

	attr.exclude_callchain_kernel = 1;
	return attr;
}

/* The sample of the page touched under the recursion. The watch stays open: it holds the chain. */
static inline struct pm_sample sample_chain(struct sampler *sampler, unsigned int depth)
{
	char *page = fresh_page();
	struct pm_record record;

	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	recurse(page, depth);
	must_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	while (find_record(sampler, PERF_RECORD_SAMPLE, &record))
		if (record.sample.addr == (uintptr_t)page)
			return record.sample;
	say_broken("no sample of the page fault");
}

/* Count the frames of each context and where its marker stands (0: nowhere). */
static inline struct frames count_frames(const struct pm_sample *sample)
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

#endif
