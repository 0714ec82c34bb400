/* SPDX-License-Identifier: MIT */
/* What a source watches, by the text that names it. */
#ifndef SERVICE_EVENTS_H
#define SERVICE_EVENTS_H

#include "../../perfmodes.h"

#define EVENTS 32

struct events {
	struct pm_event_spec specs[EVENTS];
	struct pm_event_listed listed[EVENTS];
	size_t count;
	size_t leaders;		/* take samples; the others are counted with them */
};

/*
 * One event, a group whose first one takes the samples, or a pattern of tracepoints, whose samples
 * are told together. Returns 0 or -errno with the diagnosis.
 */
int events_read(const char *text, struct pm_diag *diag, struct events *ret);

/* Whether its samples are weighed in ns. */
bool events_are_clock(const char *text);

/* Bytes before the comma that ends the first of a list; commas of groups and terms are not it. */
size_t events_first(const char *text);

#endif
