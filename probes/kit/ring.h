/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of a ring, for tests that look through them.
 */
#ifndef RING_H
#define RING_H

#include <stdint.h>

#include "../../lib/pm_sys.h"

/* Touch each page of a ring, and its tail for writing: using it later is no page fault of ours. */
void touch_ring(struct pm_ring *ring);
/* Walk all unread records of a ring and count those of a type; others are dropped too. */
int count_records(struct pm_ring *ring, uint32_t type);
/* Decode the next record. Returns 1, 0 when empty, -errno when it does not parse. */
int next_record(struct pm_ring *ring, const struct pm_format *format, struct pm_record *ret);

#endif
