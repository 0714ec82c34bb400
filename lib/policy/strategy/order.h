/* SPDX-License-Identifier: MIT */
/* All strategies, in the order of preference; not installed. */
#ifndef PM_ORDER_H
#define PM_ORDER_H

#include "../plan/strategy.h"

extern const struct ranked pm_strategies[STRATEGIES];

/* NULL: not on this machine. */
const struct strategy *pm_strategy_of(enum pm_strategy number);

#endif
