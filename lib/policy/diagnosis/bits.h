/* SPDX-License-Identifier: MIT */
/* Which bit of an attr is refused; not installed. */
#ifndef PM_BITS_H
#define PM_BITS_H

#include "refusal.h"

/*
 * Whether perf_event_open(2) said `error` > 0 for a flag or want of the spec and not for its event:
 * then fills cause, gate and change. Opens events, and closes them.
 */
bool pm_refused_bit(const struct pm_event_spec *spec, int cpu, int error, struct pm_refusal *ret);

#endif
