/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pair that is known to work. Included behind probe.h.
 */
#ifndef REDIRECTED_H
#define REDIRECTED_H

#include "redirection.h"

/* Open and redirect a pair of samplers of page faults, known to work. */
static inline struct redirection must_redirect_faults(void)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);
	struct redirection pair = must_redirect(&attr);

	must_samples(pair.source, &pair.target.ring, 5, "redirected");
	return pair;
}

#endif
