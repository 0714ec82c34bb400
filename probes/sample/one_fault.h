/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One page fault, one sample. Included behind probe.h.
 */
#ifndef ONE_FAULT_H
#define ONE_FAULT_H

/* Enable a sampler of page faults, cause one, disable it: the first sample. */
static inline struct pm_sample sample_fault(struct sampler *sampler)
{
	struct pm_record record;

	must_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	must_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!find_record(sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a page fault");
	return record.sample;
}

#endif
