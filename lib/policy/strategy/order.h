/* SPDX-License-Identifier: MIT */
/* All strategies, by enum pm_strategy; not installed. */
#ifndef PM_ORDER_H
#define PM_ORDER_H

#include "../plan/strategy.h"

extern const struct strategy *const pm_strategies[PM_STRATEGIES];

#endif
