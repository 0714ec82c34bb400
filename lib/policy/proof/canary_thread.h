/* SPDX-License-Identifier: MIT */
/* The thread that does what must show in a session's rings and counters; not installed. */
#ifndef PM_CANARY_THREAD_H
#define PM_CANARY_THREAD_H

#include "proof.h"

#define CANARY_COUNTED 32	/* page faults that are caused for a counter, at least */

/* Whether the canary can make this event happen, in little time. */
bool pm_canary_can_cause(const struct plan_event *event);

/* Whether that takes so little that it is done on each CPU. */
bool pm_canary_is_everywhere(const struct plan_event *event);

/* Makes each event happen that it can; more often when patient. */
void pm_canary_cause(struct pm_session *session, bool patient);

/* The calling thread takes its own name again: a COMM record, at once. False: it may not. */
bool pm_canary_rename(void);

/*
 * Makes a thread that shows in each ring, and also causes events unless `name_only`; waits until it
 * has done so. True when it did so where that shows. pm_canary_bury() is to follow.
 */
bool pm_canary_send(struct pm_session *session, bool name_only, bool patient);

/* Waits until the kernel has added what it counted. */
void pm_canary_bury(struct pm_session *session);

#endif
