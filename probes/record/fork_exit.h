/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads and children that only come and go, and the event that tells of them: what probes of FORK
 * and EXIT share. Included behind probe.h.
 */
#ifndef FORK_EXIT_H
#define FORK_EXIT_H

static inline void *thread_tid(void *ret)
{
	*(pid_t *)ret = pm_gettid();
	return NULL;
}

static inline int end_child(void *unused)
{
	(void)unused;
	return 0;
}

static inline struct perf_event_attr attr_tasks(void)
{
	struct perf_event_attr attr = attr_sideband();

	attr.task = 1;
	return attr;
}

static inline struct sampler watch_tasks(void)
{
	struct perf_event_attr attr = attr_tasks();
	struct sampler sampler = must_sampler(&attr, 0, -1, 2);

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	return sampler;
}

#endif
