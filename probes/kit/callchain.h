/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call chains whose frames are known: a page touched at the bottom of a recursion whose return
 * addresses are known, its sample, and the frames of its chain. Included behind probe.h.
 */
#ifndef CALLCHAIN_H
#define CALLCHAIN_H

#include "counting.h"
#include "pages.h"
#include "sampler.h"

struct frames {
	unsigned int user, kernel, user_at, kernel_at;
};

#ifdef __s390x__
/* A function with a frame of its own. The kernel follows the back chain, which is optional. */
#define CHAINED __attribute__((noinline, target("backchain")))
#else
/* A function with a frame of its own. */
#define CHAINED __attribute__((noinline))
#endif

#ifdef __arm__
/* The kernel walks no frames of 32-bit Arm's present ABI: sample.callchain.depth says so. */
#define HAVE_FRAMES 0
#else
/* Whether the kernel walks user frames of this architecture's ABI. */
#define HAVE_FRAMES 1
#endif

/* Calls of the deepest recursion. */
#define DEEPEST 20

/* A recursion that touches a page, and where each of its calls returns to, the innermost first. */
struct recursion {
	volatile char *page;
	uintptr_t returns[DEEPEST + 1];
};

/* Asking for the frame address keeps the frame pointer, whatever the compiler's options. */
static CHAINED uintptr_t recurse(struct recursion *recursion, unsigned int depth)
{
	volatile uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	recursion->returns[depth] =
		(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
	if (depth)
		frame += recurse(recursion, depth - 1);
	else
		recursion->page[0] = 1;
	return frame;
}

/* A sampling event on page faults with user call chains. */
static inline struct perf_event_attr attr_chain(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR |
						  PERF_SAMPLE_CALLCHAIN);

	attr.exclude_callchain_kernel = 1;
	return attr;
}

/* The sample of a page touched under a recursion. The sampler stays open: it holds the chain. */
static inline struct pm_sample sample_recursion(struct sampler *sampler,
						struct recursion *recursion, unsigned int depth)
{
	struct pm_record record;

	recursion->page = fresh_page();
	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	recurse(recursion, depth);
	must_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	while (find_record(sampler, PERF_RECORD_SAMPLE, &record))
		if (record.sample.addr == (uintptr_t)recursion->page)
			return record.sample;
	say_broken("no sample of the page fault");
}

/* The same where only the chain is of interest. */
static inline struct pm_sample sample_chain(struct sampler *sampler, unsigned int depth)
{
	struct recursion recursion;

	return sample_recursion(sampler, &recursion, depth);
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

/* How many of the recursion's return addresses these frames are, one by one. */
static inline unsigned int count_returns(const uint64_t *words, unsigned int count,
					 const struct recursion *recursion, unsigned int calls)
{
	unsigned int same = 0;

	while (same < calls && same < count && words[same] == recursion->returns[same])
		same++;
	return same;
}

/*
 * Broken unless the user half of a chain is the sample's address and then `calls` return addresses
 * of the recursion. On Power the link register may come first and then the same address again,
 * from the frame in which the function has saved it.
 */
static inline void expect_frames(const struct pm_sample *sample, const struct recursion *recursion,
				 unsigned int calls)
{
	const struct frames frames = count_frames(sample);
	const uint64_t *words = sample->callchain + frames.user_at;
	unsigned int same;

	if (!frames.user_at || !frames.user || words[0] != sample->ip)
		say_broken("user frames=%u first=%#" PRIx64 " ip=%#" PRIx64, frames.user,
			   frames.user_at && frames.user ? words[0] : 0, sample->ip);
	same = count_returns(words + 1, frames.user - 1, recursion, calls);
#ifdef __powerpc__
	if (same < calls && frames.user > 2 && words[1] == words[2])
		same = count_returns(words + 2, frames.user - 2, recursion, calls);
#endif
	if (same < calls)
		say_broken("user frames=%u, the first %u of %u calls are right, then %#" PRIx64
			   " want=%#" PRIxPTR, frames.user, same, calls,
			   same + 1 < frames.user ? words[same + 1] : 0, recursion->returns[same]);
}

#endif
