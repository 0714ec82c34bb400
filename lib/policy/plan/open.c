/* SPDX-License-Identifier: MIT */
/* One call of perf_event_open(2) as a plan has it, with what belongs to it before and after. */
#include <errno.h>
#include <unistd.h>

#include "../broker/broker.h"
#include "open.h"

/* Another event that this one has to do with: whose ring it writes to, or who leads its group. */
struct other {
	int fd;				/* -1: none */
	unsigned long flags;		/* of perf_event_open(2) that say which of the two */
};

bool pm_open_is_of_event(int err)
{
	return err == -ENOENT || err == -ENODEV || err == -EINVAL || err == -EOPNOTSUPP;
}

/* Another process may be allowed what is refused to this one; else the refusal stays as it is. */
static int ask_broker(struct broker_use *broker, const struct perf_event_attr *attr, pid_t tid,
		      int cpu, int refusal)
{
	int fd;

	if (broker == NULL || broker->socket < 0 || broker->gone ||
	    (refusal != -EACCES && refusal != -EPERM && refusal != -ENOSYS))
		return refusal;
	fd = pm_broker_open(broker->socket, attr, tid, cpu);
	if (fd >= 0) {
		broker->opened++;
		return fd;
	}
	/* Who says nonsense once is out of step with the questions. */
	broker->gone = fd == -EPIPE || fd == -EPROTO;
	broker->error = fd;
	broker->refused++;
	return pm_open_is_of_event(fd) ? fd : refusal;
}

static int open_here(const struct pm_plan *plan, struct perf_event_attr *attr, pid_t pid, int cpu,
		     const struct other *other, unsigned long flags)
{
	if (other->fd >= 0)
		flags |= other->flags;
	if (!pm_plan_takes(plan, MODIFIER(CLOEXEC)))
		return pm_open(attr, pid, cpu, other->fd, flags);
	attr->size = pm_attr_size_needed(attr);
	return pm_open_raw(attr, pid, cpu, other->fd, flags | PERF_FLAG_FD_CLOEXEC);
}

static int open_one(const struct pm_plan *plan, const struct plan_event *event,
		    struct perf_event_attr *attr, pid_t tid, int cpu, const struct other *other)
{
	const pid_t task = event->spec.tid == PM_SYSTEM ? -1 : tid;
	struct other leader = *other;
	int fd;

	if (plan->via_broker)
		return pm_broker_open(plan->opts.broker, attr, tid ? tid : pm_gettid(), cpu);
	if (event->spec.tid != PM_CGROUP) {
		fd = open_here(plan, attr, task, cpu, other, 0);
		return fd >= 0 || other->fd >= 0 ? fd :
			ask_broker(plan->apart.broker, attr, task, cpu, fd);
	}
	if (leader.flags != 0)
		leader.fd = -1;
	return open_here(plan, attr, plan->opts.cgroup, cpu, &leader, PERF_FLAG_PID_CGROUP);
}

static int open_and_filter(const struct pm_plan *plan, const struct plan_event *event,
			   struct perf_event_attr *attr, pid_t tid, int cpu,
			   const struct other *other)
{
	int fd = open_one(plan, event, attr, tid, cpu, other), err;

	if (fd < 0 || event->spec.filter == NULL)
		return fd;
	err = pm_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)event->filter);
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

int pm_plan_open_into(const struct pm_plan *plan, const struct plan_event *event,
		      struct perf_event_attr *attr, pid_t tid, int cpu, int output)
{
	const struct other other = { output, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP };

	return open_and_filter(plan, event, attr, tid, cpu, &other);
}

int pm_plan_open_led(const struct pm_plan *plan, const struct plan_event *event,
		     struct perf_event_attr *attr, pid_t tid, int cpu, int leader)
{
	const struct other other = { leader, 0 };

	return open_and_filter(plan, event, attr, tid, cpu, &other);
}

int pm_plan_open(const struct pm_plan *plan, const struct plan_event *event,
		 struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return pm_plan_open_led(plan, event, attr, tid, cpu, -1);
}
