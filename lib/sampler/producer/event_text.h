/* SPDX-License-Identifier: MIT */
/* PerfEvents.Timebase and FollowerEvent as texts of perfmodes_event.h. Not installed. */
#ifndef PRODUCER_EVENT_TEXT_H
#define PRODUCER_EVENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../wire/field.h"

struct event_wish {
	char text[512];		/* "": cpu-clock */
	char filter[512];	/* of a tracepoint's fields */
	uint64_t period, frequency, poll_ms;	/* 0: not told */
	uint64_t clock;		/* PerfClock; 0: not told */
};

/* -EINVAL with a sentence in `error`. */
int event_wish_read(struct fields fields, bool follower, struct event_wish *ret, char *error,
		    size_t room);

#endif
