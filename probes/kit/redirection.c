/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See redirection.h.
 */
#define _GNU_SOURCE

#include "open.h"
#include "redirection.h"
#include "sampler.h"

struct redirection must_redirect(const struct perf_event_attr *attr)
{
	struct redirection pair;

	pair.target = must_sampler(attr, 0, -1, 1);
	pair.source = must_open(attr, 0, -1, -1, 0);
	must_ioctl(pair.source, PERF_EVENT_IOC_SET_OUTPUT, pair.target.fd);
	return pair;
}
