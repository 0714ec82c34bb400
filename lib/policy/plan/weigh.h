/* SPDX-License-Identifier: MIT */
/* Whether a strategy serves a plan; not installed. */
#ifndef PM_WEIGH_H
#define PM_WEIGH_H

#include "plan.h"

/* 0 when what the candidate needs holds and it fits; else -errno, with reason and cause. */
int pm_weigh(const struct pm_plan *plan, struct candidate *candidate);

/* Says why it does not fit. Returns -error. The cause, where none is set, follows from that. */
int pm_rule_out(struct candidate *candidate, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
