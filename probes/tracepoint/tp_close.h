/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What probes about samples of a tracepoint share: a system call that does nothing else.
 * Included behind probe.h.
 */
#ifndef TP_CLOSE_H
#define TP_CLOSE_H

#include "tracepoint.h"

#define FIRST 1000000	/* no descriptor is that large */

static inline struct perf_event_attr sampling(uint64_t period, uint64_t sample_type)
{
	struct perf_event_attr attr = must_call_tracepoint("sys_enter_close");

	attr.sample_period = period;
	attr.sample_type = sample_type;
	return attr;
}

static inline struct sampler watch_closes(uint64_t period, uint64_t sample_type)
{
	struct perf_event_attr attr = sampling(period, sample_type);
	struct sampler sampler = must_sampler(&attr, 0, -1, 8);

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	return sampler;
}

#endif
