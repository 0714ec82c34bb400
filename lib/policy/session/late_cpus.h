/* SPDX-License-Identifier: MIT */
/* CPUs that come and go under a session; not installed. */
#ifndef PM_LATE_CPUS_H
#define PM_LATE_CPUS_H

#include "session.h"

/*
 * Once a second, or now: attaches to CPUs that came online, lets go of events that died with
 * their CPU, and keeps account of both. Nothing where the strategy does not know CPUs apart.
 */
void pm_late_cpus_follow(struct pm_session *session, bool now);

/* Frees what is known of such CPUs. */
void pm_late_cpus_free(struct late_cpus *cpus);

#endif
