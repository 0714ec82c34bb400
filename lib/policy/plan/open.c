/* SPDX-License-Identifier: MIT */
/* One call of perf_event_open(2) as a plan has it, with what belongs to it before and after. */
#include <errno.h>
#include <unistd.h>

#include "../broker/broker.h"
#include "open.h"

static int open_here(const struct pm_plan *plan, struct perf_event_attr *attr, pid_t pid, int cpu,
		     int output, unsigned long flags)
{
	if (output >= 0)
		flags |= PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP;
	if (!plan->cloexec)
		return pm_open(attr, pid, cpu, output, flags);
	attr->size = pm_attr_size_needed(attr);
	return pm_open_raw(attr, pid, cpu, output, flags | PERF_FLAG_FD_CLOEXEC);
}

static int open_one(const struct pm_plan *plan, const struct plan_event *event,
		    struct perf_event_attr *attr, pid_t tid, int cpu, int output)
{
	if (plan->via_broker)
		return pm_broker_open(plan->opts.broker, attr, tid ? tid : pm_gettid(), cpu);
	if (event->spec.tid == PM_CGROUP)
		return open_here(plan, attr, plan->opts.cgroup, cpu, -1,
				 PERF_FLAG_PID_CGROUP);
	return open_here(plan, attr, event->spec.tid == PM_SYSTEM ? -1 : tid, cpu, output, 0);
}

int pm_plan_open_into(const struct pm_plan *plan, const struct plan_event *event,
		      struct perf_event_attr *attr, pid_t tid, int cpu, int output)
{
	int fd = open_one(plan, event, attr, tid, cpu, output), err;

	if (fd < 0 || event->spec.filter == NULL)
		return fd;
	err = pm_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)event->filter);
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

int pm_plan_open(const struct pm_plan *plan, const struct plan_event *event,
		 struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return pm_plan_open_into(plan, event, attr, tid, cpu, -1);
}
