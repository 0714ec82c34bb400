/* SPDX-License-Identifier: MIT */
/* Opening, enabling, reading and closing the events of a session. */
#include "events.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../diagnosis/diag.h"
#include "../plan/group.h"
#include "../plan/open.h"
#include "../spec/now.h"

/*
 * The kernel gives the lowest free descriptor, so the number of a new one tells that as many are
 * open: no list of them is needed to notice that the share of the soft limit is used up.
 */
static void raise_when_short(struct event_list *events, int fd)
{
	const struct pm_session_opts *opts = &events->plan->opts;
	struct rlimit limit;

	if (events->nofile == 0)
		events->nofile = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur :
			UINT64_MAX / 100;
	if (!(opts->allow & PM_ALLOW_RAISE_NOFILE) ||
	    (uint64_t)fd < events->nofile * opts->descriptors_percent / 100)
		return;
	events->nofile = UINT64_MAX / 100;	/* once is enough */
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Its index, or -ENOMEM, and the descriptor is closed. */
static int add(struct event_list *events, const struct session_event *event, uint64_t read_format)
{
	if (pm_make_room(&events->list, events->count, &events->room, sizeof(*event)) < 0) {
		close(event->fd);
		return -ENOMEM;
	}
	events->read_format[event->spec] = read_format;
	events->list[events->count] = *event;
	events->changes++;
	return (int)events->count++;
}

/* The descriptor that leads the group of a new event on its thread and CPU; -1: none. */
static int leader_of(const struct event_list *events, const struct session_event *event)
{
	const struct pm_plan *plan = events->plan;
	const struct plan_event *leader = pm_group_led_by(plan, &plan->events[event->spec]);
	const pid_t tid = event->tid ? event->tid : pm_gettid();

	for (size_t i = events->count; leader != NULL && i-- > 0;)
		if (&plan->events[events->list[i].spec] == leader &&
		    events->list[i].tid == tid && events->list[i].cpu == event->cpu)
			return events->list[i].fd;
	return -1;
}

/*
 * A refusal with a ring to share may be one of that flag: without it the error counts. ENODEV says
 * that the leader's event has ended, which the ioctl(2) does not mind (the probe
 * output.ended_target; 6.18). So may that of a thread that lives: the kernel swaps the contexts of
 * two threads with the same inherited events, and the canary's thread ends.
 */
static int open_event(struct event_list *events, struct perf_event_attr *attr,
		      struct session_event *event)
{
	const struct plan_event *planned = &events->plan->events[event->spec];
	const int leader = leader_of(events, event);
	int fd = -EINVAL;

	event->forwarded = false;
	if (leader >= 0)
		return pm_plan_open_led(events->plan, planned, attr, event->tid, event->cpu,
					leader);
	if (events->output >= 0)
		fd = pm_plan_open_into(events->plan, planned, attr, event->tid, event->cpu,
				       events->output);
	event->forwarded = fd >= 0;
	if (fd != -EINVAL && (fd != -ENODEV || events->output < 0))
		return fd;
	fd = pm_plan_open(events->plan, planned, attr, event->tid, event->cpu);
	events->by_flag = events->by_flag && (events->output < 0 || fd < 0);
	return fd;
}

int pm_events_open(struct event_list *events, const struct session_event *wanted, bool inherit)
{
	struct perf_event_attr attr = events->plan->events[wanted->spec].attr;
	struct session_event event = *wanted;

	pm_plan_set_inherit(events->plan, &attr, inherit);
	attr.disabled = !events->enabled;
	event.begun[0] = pm_now();
	for (int tries = 0; tries < 2; tries++) {
		event.fd = open_event(events, &attr, &event);
		if (event.fd != -EMFILE || !(events->plan->opts.allow & PM_ALLOW_RAISE_NOFILE))
			break;
		raise_when_short(events, INT32_MAX);
	}
	if (event.fd < 0)
		return event.fd;
	raise_when_short(events, event.fd);
	event.begun[1] = pm_now();
	if (event.tid == 0)
		event.tid = pm_gettid();
	return add(events, &event, attr.read_format);
}

int pm_events_enable(const struct event_list *events, struct pm_diag *diag)
{
	return events->enabled ? 0 : pm_events_enable_since(events, 0, diag);
}

int pm_events_enable_since(const struct event_list *events, size_t count, struct pm_diag *diag)
{
	/* Backwards, so that a group begins when its leader does, with all members: see group.c. */
	for (size_t i = events->count; i-- > count;) {
		const uint64_t before = pm_now();
		int err = pm_ioctl(events->list[i].fd, PERF_EVENT_IOC_ENABLE, 0);

		if (err < 0)
			return pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "ioctl(PERF_EVENT_IOC_"
					   "ENABLE): %s: the events cannot be started, a filter "
					   "may refuse it", pm_errno_name(-err));
		events->list[i].begun[0] = before;
		events->list[i].begun[1] = pm_now();
	}
	return 0;
}

/* Of a group each member reads all values, the leader's first: its own is put there. */
static int read_own(const struct session_event *event, uint64_t format, struct pm_counts *ret)
{
	int err = pm_read_counts(event->fd, format, ret);
	uint64_t id = event->id;

	if (err < 0 || !(format & PERF_FORMAT_GROUP) || ret->nr == 1)
		return err;
	if (id == 0)
		err = pm_ioctl(event->fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
	for (uint64_t i = 0; err == 0 && i < ret->nr; i++)
		if (ret->member[i].id == id) {
			ret->member[0] = ret->member[i];
			return 0;
		}
	return err < 0 ? err : -EBADMSG;
}

int pm_event_counts(const struct event_list *events, const struct session_event *event,
		    struct pm_counts *ret)
{
	int err;

	if (event->fd < 0)
		return -EBADF;
	err = read_own(event, events->read_format[event->spec], ret);
	if (err < 0)
		return err;
	ret->member[0].value -= event->base.value;
	ret->time_enabled -= event->base.enabled;
	ret->time_running -= event->base.running;
	return 0;
}

int pm_event_begin(const struct event_list *events, struct session_event *event)
{
	const uint64_t before = pm_now();
	struct pm_counts counts;
	int err = pm_event_counts(events, event, &counts);

	if (err < 0)
		return err;
	event->base.value += counts.member[0].value;
	event->base.enabled += counts.time_enabled;
	event->base.running += counts.time_running;
	event->begun[0] = before;
	event->begun[1] = pm_now();
	return 0;
}

void pm_events_close_since(struct event_list *events, size_t count)
{
	while (events->count > count) {
		int fd = events->list[--events->count].fd;

		if (fd >= 0)
			close(fd);
		events->changes++;
	}
}

void pm_events_forget_closed(struct event_list *events)
{
	size_t kept = 0;

	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].fd >= 0)
			events->list[kept++] = events->list[i];
	events->changes += kept < events->count;
	events->count = kept;
}

void pm_events_free(struct event_list *events)
{
	pm_events_close_since(events, 0);
	free(events->list);
	events->list = NULL;
	events->room = 0;
	events->enabled = false;
}

int pm_events_refused(const struct event_list *events, uint32_t spec, int cpu, int err,
		      struct pm_diag *diag)
{
	const struct plan_event *event = &events->plan->events[spec];
	struct pm_event_spec named = event->spec;

	if (err == -ENOMEM)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "attach: out of memory");
	named.name = event->name;
	(void)pm_diag_open(diag, &named, cpu, err);
	return err;
}
