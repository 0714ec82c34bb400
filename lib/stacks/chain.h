/* SPDX-License-Identifier: MIT */
/* Frames out of a chain of the kernel's. Not installed. */
#ifndef PM_STACKS_CHAIN_H
#define PM_STACKS_CHAIN_H

#include "../perfmodes_stacks.h"

struct chain_frames {
	uint64_t *addresses;
	uint8_t *frames;		/* enum pm_frame_bits */
	size_t count, room;
};

/* Adds the frames of the sample's chain; without `user`, those in front of the user's. Returns how
 * many there are then. */
size_t chain_take(const struct pm_stack_sample *sample, bool user, struct chain_frames *ret);

#endif
