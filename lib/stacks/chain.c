/* SPDX-License-Identifier: MIT */
/* Chains as the kernel delivers them: addresses, with marks between that say whose they are. */
#include "chain.h"

#define MARK_HYPERVISOR ((uint64_t)-32)
#define MARK_KERNEL ((uint64_t)-128)
#define MARK_USER ((uint64_t)-512)
#define MARK_USER_DEFERRED ((uint64_t)-640)
#define MARK_GUEST ((uint64_t)-2048)
#define MARK_GUEST_KERNEL ((uint64_t)-2176)
#define MARK_GUEST_USER ((uint64_t)-2560)
#define MARK_LOWEST ((uint64_t)-4095)

static uint8_t context_of(uint64_t mark)
{
	switch (mark) {
	case MARK_HYPERVISOR:
		return PM_FRAME_HYPERVISOR;
	case MARK_KERNEL:
		return PM_FRAME_KERNEL;
	case MARK_GUEST_KERNEL:
		return PM_FRAME_GUEST | PM_FRAME_KERNEL;
	case MARK_GUEST:
	case MARK_GUEST_USER:
		return PM_FRAME_GUEST;
	default:
		return 0;
	}
}

size_t chain_take(const struct pm_stack_sample *sample, bool user, struct chain_frames *ret)
{
	uint8_t context = 0, caller = 0;

	for (size_t i = 0; i < sample->callchain_count; i++) {
		const uint64_t entry = sample->callchain[i];

		if (entry == MARK_USER_DEFERRED)
			break;		/* a cookie follows, and nothing behind it */
		if (entry >= MARK_LOWEST) {
			context = context_of(entry);
			caller = 0;
			continue;
		}
		if (context == 0 && !user)
			break;
		if (ret->count == ret->room)
			return ret->count;
		ret->addresses[ret->count] = entry;
		ret->frames[ret->count++] = context | caller;
		caller = PM_FRAME_CALLER;
	}
	return ret->count;
}

uint64_t pm_stack_cookie(const struct pm_stack_sample *sample)
{
	for (size_t i = 0; i + 1 < sample->callchain_count; i++)
		if (sample->callchain[i] == MARK_USER_DEFERRED)
			return sample->callchain[i + 1];
	return 0;
}

size_t pm_stack_chain(const struct pm_stack_sample *sample, uint64_t *addresses, uint8_t *frames,
		      size_t room, enum pm_stack_end *end)
{
	struct chain_frames all = { .addresses = addresses, .frames = frames, .room = room };

	chain_take(sample, true, &all);
	if (all.count == 0 && sample->ip != 0 && room > 0) {
		addresses[0] = sample->ip;
		frames[all.count++] = 0;
	}
	if (end != NULL)
		*end = pm_stack_cookie(sample) != 0 ? PM_END_DEFERRED :
			all.count == room ? PM_END_FRAMES : PM_END_UNTOLD;
	return all.count;
}

const char *pm_stack_end_text(enum pm_stack_end end)
{
	static const char *const texts[] = {
		[PM_END_COMPLETE] = "complete",
		[PM_END_UNTOLD] = "a chain of the kernel's, which does not say whether it is whole",
		[PM_END_COPY] = "the copy of the stack ended",
		[PM_END_NO_MAPPING] = "nothing is mapped at the address",
		[PM_END_NO_INFO] = "no unwind information for the code",
		[PM_END_MEMORY] = "memory cannot be read",
		[PM_END_FRAMES] = "the limit of frames",
		[PM_END_TIME] = "the limit of time",
		[PM_END_GONE] = "the process has ended",
		[PM_END_REGISTERS] = "no registers that can be unwound",
		[PM_END_DEFERRED] = "the deferred part did not come",
	};

	if ((size_t)end >= sizeof(texts) / sizeof(texts[0]) || texts[end] == NULL)
		return "unknown";
	return texts[end];
}
