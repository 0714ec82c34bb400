/* SPDX-License-Identifier: MIT */
/* Opening events on each CPU, for strategies that know CPUs apart; not installed. */
#ifndef PM_ON_CPUS_H
#define PM_ON_CPUS_H

#include "engine.h"

/* Called with each event that was opened: 0, or -errno with the diagnosis, if one is asked for. */
typedef int each_opened(struct pm_session *session, struct session_event *event,
			struct pm_diag *diag);

/* operations.attach by way of operations.attach_cpus, on all CPUs that are to be observed. */
int pm_on_cpus_attach(struct pm_session *session, struct pm_diag *diag);

/*
 * Opens each event on each CPU, for all threads with inherit: as often from the beginning as the
 * option `rounds` says until none was created meanwhile, then until a listing brings no new one,
 * whose threads may have two events of one kind. `each` may be NULL.
 */
int pm_on_cpus_open(struct pm_session *session, const struct pm_cpus *cpus,
		    each_opened *each, struct pm_diag *diag);

/*
 * operations.attach_cpus of counters; CPU -1 is any. Counts by an inherited counter and by one of
 * the thread itself cannot be told apart, so no thread may come while they are opened: then all of
 * it begins anew. After the last attempt new threads are taken to have inherited, and are counted
 * as late. Enables.
 */
int pm_on_cpus_count(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag);

/*
 * Opens each event on any CPU for the threads of one listing, and nothing is inherited. A thread
 * that comes later is for `late`; -errno from that leaves open what was opened.
 */
int pm_on_cpus_open_plain(struct pm_session *session, each_opened *each, struct pm_diag *diag);
int pm_on_cpus_open_late(struct pm_session *session, pid_t tid, each_opened *each);

/* Events from `first` on are open, each on one CPU: a ring on each, forwarding, ids; enables. */
int pm_on_cpus_connect(struct pm_session *session, const struct pm_cpus *cpus, size_t first,
		       struct pm_diag *diag);

/*
 * Both in one for a ring a CPU: it is mapped as soon as it has an event, which the others are
 * forwarded to as they open. Where that fails, the two after one another.
 */
int pm_on_cpus_open_shared(struct pm_session *session, const struct pm_cpus *cpus,
			   struct pm_diag *diag);

/* Closes what was opened and mapped since there were so many, and forgets the listings. */
void pm_on_cpus_undo(struct pm_session *session, size_t events, size_t rings);

#endif
