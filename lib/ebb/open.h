/* SPDX-License-Identifier: MIT */
/* The events of a set of counters; not installed. */
#ifndef PM_EBB_OPEN_H
#define PM_EBB_OPEN_H

#include "ebb.h"

/* Opens all as a group on that thread (0: the calling one). What is open stays so. 0 or -errno. */
int pm_ebb_open_events(struct pm_ebb *ebb, int tid, struct pm_diag *diag);

void pm_ebb_close_events(struct pm_ebb *ebb);

#endif
