/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What probes about tracepoint filters share.
 * Included behind probe.h.
 */
#ifndef TP_FILTER_H
#define TP_FILTER_H

#include "tracepoint.h"

static int open_closes(void)
{
	struct perf_event_attr attr = must_call_tracepoint("sys_enter_close");

	attr.disabled = 0;
	return must_open(&attr, 0, -1, -1, 0);
}

static int set_filter(int fd, const char *text)
{
	return pm_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)text);
}

static void must_filter(int fd, const char *text)
{
	int error = set_filter(fd, text);

	if (error == -EACCES || error == -EPERM)
		say_blocked("SET_FILTER: %s", pm_errno_name(error));
	if (error < 0)
		say_broken("filter \"%s\": errno=%s", text, pm_errno_name(error));
}

#endif
