/* SPDX-License-Identifier: MIT */
/* Why a strategy does not serve a plan; not installed. */
#ifndef PM_RULE_OUT_H
#define PM_RULE_OUT_H

#include "plan.h"

/* Says why it does not fit. Returns -error. The cause, where none is set, follows from that. */
int pm_rule_out(struct candidate *candidate, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
