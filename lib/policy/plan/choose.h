/* SPDX-License-Identifier: MIT */
/* Choosing one of the candidates; not installed. */
#ifndef PM_CHOOSE_H
#define PM_CHOOSE_H

#include "plan.h"

/* Weighs all candidates and takes the first that fits. -ENOTSUP with the diagnosis: none does. */
int pm_plan_choose(struct pm_plan *plan, struct pm_diag *diag);

/* The chosen strategy did not work: says why and goes on to the next that fits. -ENOTSUP: none. */
int pm_plan_next(struct pm_plan *plan, const char *why);

#endif
