/* SPDX-License-Identifier: MIT */
/* What has become of the records in a ring. */
#ifndef RING_H
#define RING_H

#include "shape.h"

enum ring_end {
	RING_NOT_KNOWN,
	RING_READ,		/* some were, who waits was woken once, or there are none */
	RING_NEVER_WOKEN,	/* some, fewer than wake who waits for them, and unread */
};

/* By a descriptor of ours for an event of that kind, whose process ends. */
enum ring_end ring_end_of(int copy, const struct shape *shape);

#endif
