/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One page fault, one sample; a page to fault on. Included behind probe.h.
 */
#ifndef ONE_FAULT_H
#define ONE_FAULT_H

/* A page of this thread's own that nobody has touched. */
static inline char *fresh_page(void)
{
	char *page = mmap(NULL, probe_env()->page_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		say_unknown("mmap of a page: %s", pm_errno_name(errno));
	return page;
}

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
