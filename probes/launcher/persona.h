/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who a probe runs as: the privileges under which a question is asked.
 *
 *   root      as the super-user
 *   perfmon   uid 65534 with CAP_PERFMON (v5.8) and nothing else
 *   user      uid 65534 without capabilities; without root: this user, capabilities dropped
 *   seccomp   user, with perf_event_open answered EPERM as container run-times do
 *   same      as we are
 */
#ifndef PERSONA_H
#define PERSONA_H

#include <stdbool.h>


bool persona_known(const char *name);

/*
 * Turn this process into the persona, for good. Returns 0 or -errno after a line on stderr.
 */
int persona_assume(const char *name);

/* Before that, as root: give this process a view of tracefs when the machine has none mounted. */
void persona_see_tracefs(void);

/* And put the ids of the tracepoints that probes ask about into $PERFMODES_TRACEPOINTS. */
void persona_tell_tracepoints(void);

#endif
