/* SPDX-License-Identifier: MIT */
/* Saying why a strategy does not serve a plan. */
#include "rule_out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static enum pm_cause cause_of(int error)
{
	switch (error) {
	case EINVAL:	return PM_CAUSE_INPUT;
	case EMFILE:	return PM_CAUSE_DESCRIPTORS;
	case ENOMEM:	return PM_CAUSE_LOCKED_MEMORY;
	default:	return PM_CAUSE_NONE;
	}
}

int pm_rule_out(struct candidate *candidate, int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(candidate->reason, REASON_SIZE, format, list);
	va_end(list);
	if (candidate->cause == PM_CAUSE_NONE)
		candidate->cause = cause_of(error);
	return -error;
}
