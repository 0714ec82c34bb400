/* SPDX-License-Identifier: MIT */
/* From a session's rings to its listener; not installed. */
#ifndef PM_DRAIN_H
#define PM_DRAIN_H

#include "../engine/engine.h"

/* Delivers what is there now, one lap of each ring at most. Returns the number of records. */
int pm_drain(struct pm_session *session);

#endif
