/* SPDX-License-Identifier: MIT */
/* The tax on making threads; not installed. */
#ifndef PM_TAX_H
#define PM_TAX_H

#include "plan.h"

/* ns that making a thread takes longer with what a strategy inherits; measured. 0 or -errno. */
int pm_tax_of(const struct pm_plan *plan, const struct strategy *strategy, uint64_t *ret);

#endif
