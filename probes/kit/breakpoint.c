/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See breakpoint.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "attrs.h"
#include "breakpoint.h"
#include "internal.h"
#include "say.h"

struct perf_event_attr attr_access(uint32_t bp_type, const volatile void *address, uint64_t length)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);

	expect_breakpoints();
	attr.bp_type = bp_type;
	attr.bp_addr = (uintptr_t)address;
	attr.bp_len = length;
	return attr;
}

bool breakpoints_are_hit(void)
{
	static volatile int64_t word;
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);
	uint64_t hits = 1;
	int fd;

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&word;
	attr.bp_len = 4;
	attr.disabled = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return true;
	word = 1;
	(void)pm_read_count(fd, &hits);
	close(fd);
	return hits > 0;
}

int count_free_breakpoints(pid_t tid)
{
	static volatile int64_t words[64];
	int fds[64], count = 0;

	while (count < 64) {
		struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &words[count], 4);

		attr.disabled = 0;
		fds[count] = pm_open(&attr, tid, -1, -1, 0);
		if (fds[count] < 0)
			break;
		count++;
	}
	for (int i = 0; i < count; i++)
		close(fds[i]);
	return count;
}

int modify_breakpoint(int fd, const struct perf_event_attr *attr)
{
	struct perf_event_attr sized = *attr;

	sized.size = pm_attr_size_needed(attr);
	return pm_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&sized);
}

void must_modify(int fd, const struct perf_event_attr *attr)
{
	int error = modify_breakpoint(fd, attr);

	if (error == -ENOTTY)
		say_no("ENOTTY: no such ioctl; others work on the same descriptor");
	if (error < 0)
		say_broken("MODIFY_ATTRIBUTES refuses a legal change: %s", pm_errno_name(error));
}
