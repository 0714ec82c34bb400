/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Breakpoints. Included behind probe.h.
 */
#ifndef BREAKPOINT_H
#define BREAKPOINT_H

#include <stdint.h>
#include <sys/types.h>

#include "../../lib/pm_sys.h"

/* An attr for a breakpoint on data (HW_BREAKPOINT_R, _W or _RW). */
struct perf_event_attr attr_access(uint32_t bp_type, const volatile void *address, uint64_t length);
/* How many more breakpoints a task can have. Shows that an event is really gone. */
int count_free_breakpoints(pid_t tid);
/* MODIFY_ATTRIBUTES of a breakpoint, with the attr size that pm_open() chose. Returns 0 or
 * -errno. */
int modify_breakpoint(int fd, const struct perf_event_attr *attr);
/* Change a breakpoint by MODIFY_ATTRIBUTES; no where there is no such ioctl. */
void must_modify(int fd, const struct perf_event_attr *attr);

#endif
