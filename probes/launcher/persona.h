/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking on a persona, and what root does for personas that cannot do it themselves.
 */
#ifndef PERSONA_H
#define PERSONA_H

#include "personas.h"

/* Turn this process into the persona, for good. Returns 0 or -errno after a line on stderr. */
int persona_assume(const struct persona *persona);

/* Before that, as root: give this process a view of tracefs when the machine has none mounted. */
void persona_see_tracefs(void);

/* And put the ids of the tracepoints that probes ask about into $PERFMODES_TRACEPOINTS. */
void persona_tell_tracepoints(void);

#endif
