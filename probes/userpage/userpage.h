/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user page of a running software event: what probes of it share. Included behind probe.h.
 */
#ifndef USERPAGE_H
#define USERPAGE_H

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static inline const volatile struct perf_event_mmap_page *page_of(const struct sampler *sampler)
{
	return sampler->ring.base;
}

static inline struct sampler watch_faults(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.read_format = TIMES;
	return must_run_sampler(&attr, 0, -1, 4);
}

#endif
