/* SPDX-License-Identifier: MIT */
/* Modifiers: what makes events better where the kernel takes it; not installed. */
#ifndef PM_MODIFY_H
#define PM_MODIFY_H

#include "plan.h"

/* Takes the modifiers that the profile does not speak against, and the clocks to be tried. */
void pm_modify_begin(struct pm_plan *plan);

/*
 * The event was refused with all modifiers there are. Finds those at which it was, and does
 * without: 0 when it opens then. Else nothing is changed, and the errno is that of the bare event.
 */
int pm_modify_less(struct pm_plan *plan, struct plan_event *event,
		   int (*try)(struct pm_plan *plan, struct plan_event *event, bool inherit));

/* "CLOCK_MONOTONIC", "perf's own". */
const char *pm_modify_clock(const struct pm_plan *plan);

/* The fact that tells whether that clock (a clockid_t) stamps records. */
const char *pm_modify_clock_key(int clock);

/* The modifier in words: "close-on-exec from the start". */
const char *pm_modify_name(enum modifier modifier);

#endif
