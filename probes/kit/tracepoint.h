/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: their ids and formats, and one that can be hit at will. Included behind probe.h.
 */
#ifndef TRACEPOINT_H
#define TRACEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../lib/pm_sys.h"

/*
 * The id of a tracepoint from tracefs. Where tracefs cannot be read, PERFMODES_TRACEPOINTS
 * ("sched:sched_switch=312 ...") tells what the root persona has read. Returns the id or the
 * -errno of pm_tracepoint_id().
 */
int tracepoint_id(const char *system, const char *event);
/* End the test where tracepoint_id() has failed: an id that may not be read is blocked, one that is
 * not there is absent. */
void must_have_id(int id, const char *system, const char *event);
/* An attr for the user-mode hits of a tracepoint; blocked or absent where its id cannot be had. */
struct perf_event_attr must_tracepoint(const char *system, const char *event);
/*
 * An attr for the hits of a tracepoint of the system "syscalls": with the kernel where that may be
 * counted. Who may not gets it for user mode alone, as which such hits count since v5.3, having
 * the caller's registers; before that it is one that the kernel refuses.
 */
struct perf_event_attr must_call_tracepoint(const char *event);
/* Close that many numbers that are no descriptors: system calls with known arguments. */
void cause_closes(int first, int count);

/* The text of a tracepoint's format file, which the test needs. */
void must_read_format(const char *system, const char *event, char *text, size_t size);
/* The field with the number of the call in the format of a system call's tracepoint: "nr" before
 * v4.10. */
const char *syscall_field(const char *text);
/* Whether the common_pid of a sample may be this thread's. It is the number in the first PID
 * namespace (whose inode is fixed, PROC_PID_INIT_INO), and in another one nobody tells which. */
bool is_own_pid(int64_t common_pid);

#endif
