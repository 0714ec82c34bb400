/* SPDX-License-Identifier: MIT */
/*
 * Reading names, numbers and ranges. Shared by text.c, pmu.c and tracefs.c, not installed.
 */
#ifndef PM_TEXT_H
#define PM_TEXT_H

#include "pm_sys.h"

/* Whether a name that came from a caller can be one component of a path and nothing else. */
bool pm_is_component(const char *name);

/* A decimal number at *text, which is moved behind it. False when there is none or it is huge. */
bool pm_take_number(const char **text, unsigned int *ret);

/* "3" or "0-7" at *text, which is moved behind it and behind a comma that follows. */
bool pm_take_range(const char **text, unsigned int *first, unsigned int *last);

#endif
