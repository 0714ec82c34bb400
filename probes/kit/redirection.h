/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two events that share a ring, by SET_OUTPUT. Included behind probe.h.
 */
#ifndef REDIRECTION_H
#define REDIRECTION_H

#include "sampler.h"

/* Two events of this thread: what the source writes goes into the target's ring. */
struct redirection {
	struct sampler target;
	int source;
};

/* Open two events of one attr, and redirect the source into the target's ring. */
struct redirection must_redirect(const struct perf_event_attr *attr);

#endif
