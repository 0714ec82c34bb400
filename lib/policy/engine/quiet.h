/* SPDX-License-Identifier: MIT */
/* Whether anything happens that a session would have to be awake for; not installed. */
#ifndef PM_QUIET_H
#define PM_QUIET_H

#include "../../perfmodes.h"

struct pm_session;

struct quiet {
	uint64_t active_at;		/* ns: when something last happened */
	int64_t others;			/* ns that other threads than those that poll have run */
	int64_t error;			/* ns, of that */
	bool told;			/* poll(2) has told of a ring */
};

/* At each poll, which has delivered `count` records. */
void pm_quiet_look(struct pm_session *session, int count);

/* Nothing has come for half a second, nor, where no poll(2) tells, has another thread run. */
bool pm_quiet_is(const struct pm_session *session);

#endif
