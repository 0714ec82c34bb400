/* SPDX-License-Identifier: MIT */
/* Attrs that this kernel takes; not installed. */
#ifndef PM_NEGOTIATE_H
#define PM_NEGOTIATE_H

#include "plan.h"

/*
 * Builds the attr of each event by the modifiers and tries it on its target. The first refusal is
 * in plan->refusal.
 */
void pm_plan_negotiate(struct pm_plan *plan);

/* Closes what the attempts have left open, for the next ones or for a strategy to be tried. */
void pm_plan_let_go(struct pm_plan *plan);

#endif
