/* SPDX-License-Identifier: MIT */
/* Why a shape was refused: the gate in front, and what stands behind it. */
#ifndef REASON_H
#define REASON_H

#include "../policy/diagnosis/refusal.h"
#include "shape.h"

struct reason {
	struct pm_refusal first;	/* cause PM_CAUSE_NONE: nothing was refused */
	/* "as root: ...; nothing that you set here helps", or "" */
	char behind[600];
	bool in_vain;			/* behind the gates nothing is there that could be opened */
	bool again_differs;		/* asked again it opened, or failed in another way */
	int again;			/* what it said then: 0 or a positive errno */
};

/* Of shapes.list[at]; filled by find_reasons(). */
extern struct reason *reasons[SHAPES];

/* Asks the call of a shape again with that attr, from here. Returns 0 or a positive errno. */
int ask_again(const struct shape *shape, const struct perf_event_attr *attr);

/* Becomes who made the call as far as that is possible. False: it is not. */
bool become_caller(const struct place *place);

#endif
