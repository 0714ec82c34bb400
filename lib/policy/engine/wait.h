/* SPDX-License-Identifier: MIT */
/* Waiting for records; not installed. */
#ifndef PM_WAIT_H
#define PM_WAIT_H

#include "engine.h"

/*
 * Waits for a wake-up, for a while and `timeout_ms` at most (-1: no such bound), and notes whose
 * leaders have hung up. Returns the ms that it may have waited, -ECANCELED when the stop channel
 * has something to read, -ENOMEM.
 */
int pm_wait(struct pm_session *session, int timeout_ms);

/* How often rings are looked at, wake-up or not: ms; -1: never, as poll(2) tells of everything. */
int pm_wait_tick(const struct pm_session *session);

/* New threads are looked for from now on, or not. */
void pm_follow_begin(struct pm_session *session, bool follows);

/* Whether it is time to list them again; then the next time begins. */
bool pm_follow_is_due(struct pm_session *session);

/* Whether something may come that wakes nobody. */
bool pm_wait_is_timed(const struct pm_session *session);

#endif
