/* SPDX-License-Identifier: MIT */
/* Whether a strategy serves a plan; not installed. */
#ifndef PM_WEIGH_H
#define PM_WEIGH_H

#include "plan.h"
#include "rule_out.h"

/* 0 when what the candidate needs holds and it fits; else -errno, with reason and cause. */
int pm_weigh(const struct pm_plan *plan, struct candidate *candidate);

#endif
