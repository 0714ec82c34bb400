/* SPDX-License-Identifier: MIT */
/*
 * What an event has counted, looked at just before its process closes it or ends: by a descriptor
 * of our own for as long as the look takes (pidfd_getfd(2), v5.6), so that it lives no longer.
 */
#define _GNU_SOURCE
#include "ring.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif
#define NR_PIDFD_GETFD 438
#define REFRESH 2		/* of REQUESTS */
#define RESET 3
#define PERIOD 4
#define LONG_ENOUGH 1000000	/* ns, in which a clock or cycles count */

static int pidfd = -1;
static pid_t whose;

int look_copy(pid_t process, int fd)
{
	int copy = -1;

	for (int tries = 0; tries < 2; tries++) {
		if (pidfd < 0 || whose != process || tries > 0) {
			if (pidfd >= 0)
				(void)close(pidfd);
			pidfd = (int)syscall(__NR_pidfd_open, process, 0);
			whose = process;
		}
		copy = pidfd >= 0 ? (int)syscall(NR_PIDFD_GETFD, pidfd, fd, 0) : -1;
		if (copy >= 0 || errno != ESRCH)
			break;
	}
	return copy;
}

uint64_t event_id_at(pid_t process, int fd)
{
	const int copy = look_copy(process, fd);
	uint64_t id = 0;

	if (copy < 0)
		return 0;
	if (pm_ioctl(copy, PERF_EVENT_IOC_ID, (unsigned long)&id) < 0)
		id = 0;
	(void)close(copy);
	return id;
}

/* A member of a group is found by its id; the leader comes first. */
static uint64_t value_of(const struct pm_counts *counts, int copy, uint64_t *ret_lost)
{
	uint64_t id = 0;

	if (counts->nr > 1 && pm_ioctl(copy, PERF_EVENT_IOC_ID, (unsigned long)&id) < 0)
		id = 0;
	for (uint64_t i = 0; i < counts->nr && i < PM_COUNTS_MAX; i++)
		if (id != 0 && counts->member[i].id == id) {
			*ret_lost = counts->member[i].lost;
			return counts->member[i].value;
		}
	*ret_lost = counts->member[0].lost;
	return counts->member[0].value;
}

/* On one CPU of those that its threads run on: it waits for them, and for no counter. */
static bool waits_for_tasks(const struct shape *shape)
{
	return shape->on_cpu && shape->target != TARGET_CPU && shape->target != TARGET_CGROUP;
}

/* 0: some of its fields differ in size from sample to sample. */
static uint64_t sample_bytes(uint64_t sample_type)
{
	const uint64_t fixed = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
		PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER;

	return sample_type & ~fixed ? 0 :
		8 * (1 + (uint64_t)__builtin_popcountll(sample_type));
}

/* With a fixed period the count tells how many samples there were at most. */
static bool is_counted(const struct shape *shape)
{
	const struct perf_event_attr *attr = &shape->attr;

	return attr->sample_period != 0 && !attr->freq && shape->rings > 0 &&
		shape->requests[REFRESH] == 0 && shape->requests[RESET] == 0 &&
		shape->requests[PERIOD] == 0;
}

/* Who reads a ring is woken at so many as it asked for, or where half of the ring is full. */
static bool are_too_few(uint64_t samples, const struct shape *shape)
{
	const struct perf_event_attr *attr = &shape->attr;
	const uint64_t half = (shape->most_pages - 1) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;

	return !attr->watermark && attr->wakeup_events > samples &&
		sample_bytes(attr->sample_type) != 0 &&
		samples * sample_bytes(attr->sample_type) <= half;
}

static void judge_samples(uint64_t value, int copy, bool ends, struct shape *shape)
{
	const enum ring_end end = ends ? ring_end_of(copy, shape) : RING_NOT_KNOWN;
	const bool counted = value > 0 && is_counted(shape);
	const uint64_t samples = counted ? value / shape->attr.sample_period : 0;

	shape->never_sampled += counted && samples == 0;
	if (end == RING_NEVER_WOKEN || (end == RING_NOT_KNOWN && samples > 0 &&
					are_too_few(samples, shape)))
		shape->never_woken++;
}

static void judge(const struct pm_counts *counts, int copy, bool ends, struct shape *shape)
{
	const uint64_t format = shape->attr.read_format;
	const bool timed = (format & PERF_FORMAT_TOTAL_TIME_ENABLED) &&
		(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t lost;
	const uint64_t value = value_of(counts, copy, &lost);

	shape->looked++;
	shape->sum += value;
	shape->zero += value == 0;
	shape->lost += lost;
	judge_samples(value, copy, ends, shape);
	if (!timed)
		return;
	if (counts->time_enabled == 0)
		shape->never_enabled++;
	else if (counts->time_running == 0 && waits_for_tasks(shape))
		shape->never_there++;
	else if (counts->time_running == 0)
		shape->never_ran++;
	else if (value == 0 && counts->time_running >= LONG_ENOUGH)
		shape->idle++;
	if (counts->time_running > 0 && counts->time_running < counts->time_enabled / 2 &&
	    !waits_for_tasks(shape))
		shape->part_time++;
}

static void look(pid_t process, int fd, bool ends, struct shape *shape)
{
	struct pm_counts counts = { .nr = 0 };
	unsigned long id = 0;
	int copy, err;

	if (shape->looked >= LOOKS)
		return;
	copy = look_copy(process, fd);
	if (copy < 0)
		return;
	/* The number may be of another file by now; and this asks without changing anything. */
	if (pm_ioctl(copy, PERF_EVENT_IOC_ID, (unsigned long)&id) != -ENOTTY) {
		err = pm_read_counts(copy, shape->attr.read_format, &counts);
		if (err == -ENODATA)
			shape->in_error++;
		else if (err >= 0)
			judge(&counts, copy, ends, shape);
	}
	(void)close(copy);
}

void look_at_event(pid_t process, int fd, struct shape *shape)
{
	look(process, fd, false, shape);
}

void look_at_end(pid_t process, int fd, struct shape *shape)
{
	look(process, fd, true, shape);
}
