/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the probes of bits and fields of the attr share. Included behind probe.h.
 */
#ifndef ATTR_BITS_H
#define ATTR_BITS_H

#include "finding.h"

/* The same where EOPNOTSUPP is YES, too: the bit is known, and no software event can deliver it. */
static inline void judge_known(const struct perf_event_attr *with,
			       const struct perf_event_attr *without, const char *what,
			       struct finding *ret)
{
	if (try_open(with) == -EOPNOTSUPP)
		finding_set(ret, YES, "known, not for software events (EOPNOTSUPP)");
	else
		judge_pair(with, without, 0, -1, what, ret);
}

/* The legal twin of a rule opens, as one more demand on a sampling of page faults. */
static inline void ask_legal(const struct perf_event_attr *attr, const char *what)
{
	struct perf_event_attr plain = attr_faults(0);

	close(ask_open(attr, &plain, 0, -1, what));
}

#endif
