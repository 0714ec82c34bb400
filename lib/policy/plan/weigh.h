/* SPDX-License-Identifier: MIT */
/* Whether a strategy serves a plan; not installed. */
#ifndef PM_WEIGH_H
#define PM_WEIGH_H

#include "plan.h"

/* 0 when what the candidate needs holds and it fits; else -errno, with reason and cause. */
int pm_weigh(const struct pm_plan *plan, struct candidate *candidate);

/* ns that making a thread takes longer with what a strategy inherits; measured. 0 or -errno. */
int pm_tax_of(const struct pm_plan *plan, const struct strategy *strategy, uint64_t *ret);

#endif
