/* SPDX-License-Identifier: MIT */
/*
 * Finding out what the kernel takes of each event. All of it is tried first; where that is refused
 * the bare event, and then one thing after the other is put back: that the newest is refused says
 * nothing of the others, because stable kernels and filters take them in no order.
 */
#include "negotiate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../policy/broker/broker.h"
#include "../../policy/diagnosis/diag.h"
#include "../../policy/diagnosis/words.h"
#include "../../policy/plan/rate.h"
#include "../../policy/spec/spec.h"
#include "attrs.h"

static bool is_no_privilege(int err)
{
	return err == -EACCES || err == -EPERM || err == -ENOSYS;
}

bool pm_watch_is_of_event(int err)
{
	return err == -ENOENT || err == -ENODEV || err == -EINVAL || err == -EOPNOTSUPP;
}

/* Another process may be allowed what is refused to this one; else the refusal stays as it is. */
static int ask_broker(struct pm_sampler *sampler, const struct perf_event_attr *attr, pid_t tid,
		      int cpu, int refusal)
{
	int fd;

	if (sampler->opts.broker < 0 || sampler->broker_gone)
		return refusal;
	fd = pm_broker_open(sampler->opts.broker, attr, tid, cpu);
	if (fd >= 0) {
		sampler->stats.brokered++;
		return fd;
	}
	/* Who says nonsense once is out of step with the questions. */
	sampler->broker_gone = fd == -EPIPE || fd == -EPROTO;
	sampler->broker_error = fd;
	sampler->stats.broker_refused++;
	return pm_watch_is_of_event(fd) ? fd : refusal;
}

const char *pm_watch_broker_says(const struct pm_sampler *sampler)
{
	return sampler->broker_gone ? "nothing that makes sense, or is gone" :
		pm_errno_name(-sampler->broker_error);
}

int pm_watch_open_event(struct pm_sampler *sampler, const struct watch_event *event,
			uint32_t tid, int cpu, int group)
{
	const pid_t task = sampler->way == WAY_CPUS ? -1 : (pid_t)tid;
	struct perf_event_attr attr = event->attr;
	int fd, err;

	if (sampler->way == WAY_CGROUP)
		fd = pm_open(&attr, sampler->cgroup, cpu, group, PERF_FLAG_PID_CGROUP);
	else
		fd = pm_open(&attr, task, cpu, group, 0);
	if (is_no_privilege(fd) && sampler->way != WAY_CGROUP && group < 0)
		fd = ask_broker(sampler, &attr, task, cpu, fd);
	if (fd < 0 || event->filter[0] == '\0')
		return fd;
	err = pm_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)event->filter);
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

/* ----------------------------------------------------------------------------------- one event */

struct trial {
	struct pm_sampler *sampler;
	uint32_t tid;
	int fds[EVENTS_MAX + 1];	/* of leaders, for their members; -1 */
};

static int group_of(const struct trial *trial, const struct watch_event *event)
{
	return &trial->sampler->events[event->leader] == event ? -1 : trial->fds[event->leader];
}

static int try(const struct trial *trial, struct watch_event *event)
{
	int fd;

	pm_watch_build(trial->sampler, event);
	fd = pm_watch_open_event(trial->sampler, event, trial->tid, event->trial_cpu,
				 group_of(trial, event));
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void add_why(struct watch_event *event, const char *what, int err)
{
	pm_put_also(event->why, sizeof(event->why), "without %s (%s)", what, pm_errno_name(-err));
}

static void put_back_precise(const struct trial *trial, struct watch_event *event)
{
	char text[48];
	int err = 0;

	for (unsigned int step = event->precise; step > 0; step--) {
		event->precise_left = step;
		err = try(trial, event);
		if (err == 0)
			break;
		event->precise_left = step - 1;
	}
	if (event->precise_left == event->precise)
		return;
	snprintf(text, sizeof(text), "precise_ip %u, with %u", event->precise,
		 event->precise_left);
	add_why(event, text, err);
}

static void put_back(const struct trial *trial, struct watch_event *event)
{
	for (int i = 0; i < EXTRAS; i++) {
		int err;

		if (!(event->wanted & 1u << i) || event->extras & 1u << i)
			continue;
		event->extras |= 1u << i;
		err = try(trial, event);
		if (err == 0)
			continue;
		event->extras &= ~(1u << i);
		add_why(event, pm_watch_extra_name(i), err);
	}
	put_back_precise(trial, event);
}

/* What happens in user mode alone, where the kernel may not be watched; not what happens there. */
static bool may_go_user_only(const struct trial *trial, const struct watch_event *event)
{
	return (trial->sampler->opts.flags & PM_SAMPLER_USER_ONLY) && !event->user_only &&
		!(event->spec.flags & (PM_SPEC_USER_ONLY | PM_SPEC_EXACT)) &&
		(event->side || !pm_happens_in_kernel(&event->spec));
}

static int try_bare(const struct trial *trial, struct watch_event *event)
{
	const struct watch_event *leader = &trial->sampler->events[event->leader];

	/* The kernel refuses a member whose clock is not its leader's. */
	event->extras = leader == event ? 0 : leader->extras & 1u << EXTRA_CLOCK;
	event->precise_left = 0;
	return try(trial, event);
}

/* A PMU may be of some CPUs only. */
static int find_cpu(const struct trial *trial, struct watch_event *event)
{
	const struct pm_cpus *on = &trial->sampler->on;
	int first = 0;

	if (group_of(trial, event) >= 0) {
		event->trial_cpu = trial->sampler->events[event->leader].trial_cpu;
		return try_bare(trial, event);
	}
	for (size_t i = 0; i < on->count; i++) {
		int err;

		event->trial_cpu = on->list[i];
		err = try_bare(trial, event);
		if (err == 0)
			return 0;
		first = first ? first : err;
	}
	event->trial_cpu = on->list[0];
	return first;
}

static int settle(const struct trial *trial, struct watch_event *event)
{
	int err;

	event->why[0] = '\0';
	event->user_only = false;
	err = find_cpu(trial, event);
	if ((err == -EACCES || err == -EPERM) && may_go_user_only(trial, event)) {
		event->user_only = true;
		snprintf(event->why, sizeof(event->why), "user mode only: the kernel may not be "
			 "watched (%s)", pm_errno_name(-err));
		err = find_cpu(trial, event);
	}
	if (err == -EINVAL && pm_rate_less(&event->spec, &event->spec.frequency, event->why,
					   sizeof(event->why)))
		err = find_cpu(trial, event);
	if (err < 0)
		return err;
	pm_rate_say(&event->attr, &event->spec, event->why, sizeof(event->why));
	event->extras = event->wanted;
	event->precise_left = event->precise;
	if (try(trial, event) == 0)
		return 0;
	(void)try_bare(trial, event);
	put_back(trial, event);
	/* As it is to be: the last attempt may have been of something that was refused. */
	return try(trial, event);
}

/* ----------------------------------------------------------------------------------- all events */

static int refuse(const struct trial *trial, const struct watch_event *event, int err,
		  struct pm_diag *diag)
{
	struct pm_event_spec spec = event->spec;

	spec.tid = trial->sampler->way == WAY_THREADS ? (int)trial->tid : PM_SYSTEM;
	if (diag != NULL)
		(void)pm_diag_open(diag, &spec, event->trial_cpu, err);
	return err;
}

static int try_all(struct trial *trial, struct pm_diag *diag)
{
	struct pm_sampler *sampler = trial->sampler;

	/* The side-band first: without it nothing can be told of processes. */
	for (size_t n = 0; n <= sampler->count; n++) {
		const size_t i = n == 0 ? sampler->count : n - 1;
		struct watch_event *event = &sampler->events[i];
		int err;

		pm_watch_want(sampler, event);
		err = settle(trial, event);
		if (err < 0)
			return refuse(trial, event, err, diag);
		if (event->members > 1)
			trial->fds[i] = pm_watch_open_event(sampler, event, trial->tid,
							    event->trial_cpu, -1);
	}
	return 0;
}

static bool all_have_clock(const struct pm_sampler *sampler)
{
	for (size_t i = 0; i <= sampler->count; i++)
		if (!(sampler->events[i].extras & 1u << EXTRA_CLOCK))
			return false;
	return true;
}

static int attempt(struct pm_sampler *sampler, uint32_t tid, struct pm_diag *diag)
{
	struct trial trial = { .sampler = sampler, .tid = tid };
	int err;

	memset(trial.fds, -1, sizeof(trial.fds));
	err = try_all(&trial, diag);
	for (size_t i = 0; i <= sampler->count; i++)
		if (trial.fds[i] >= 0)
			close(trial.fds[i]);
	return err;
}

int pm_watch_negotiate(struct pm_sampler *sampler, uint32_t tid, struct pm_diag *diag)
{
	int err;

	sampler->clockid = true;
	err = attempt(sampler, tid, diag);
	if (err < 0 || all_have_clock(sampler))
		return err;
	/* Events that share a ring share a clock, says the kernel. */
	sampler->clockid = false;
	return attempt(sampler, tid, diag);
}
