/* SPDX-License-Identifier: MIT */
/* Naming what failed; not installed. */
#ifndef PM_DIAG_H
#define PM_DIAG_H

#include "../../perfmodes.h"
#include "../../pm_sys.h"

/* Fills a diagnosis, which may be NULL. Returns -error. */
int pm_diag_say(struct pm_diag *diag, int error, enum pm_cause cause, const char *format, ...)
	__attribute__((format(printf, 4, 5)));


struct pm_refusal;

/* The line of a refusal. */
void pm_diag_refusal(struct pm_diag *diag, const struct pm_refusal *refusal);

/* Rings that could not be mapped. Returns -error. */
int pm_diag_map(struct pm_diag *diag, size_t rings, size_t bytes, int error);

#endif
