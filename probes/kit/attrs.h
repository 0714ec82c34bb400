/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events to open: attributes for what every task may watch, and what opening them says. Knows
 * nothing of the harness; judges nothing.
 */
#ifndef ATTRS_H
#define ATTRS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../lib/pm_sys.h"

/* An attr for a task's own user-mode events: disabled, exclude_kernel, exclude_hv. For the core's
 * PMU without the last two where it cannot exclude, and so counts the kernel's work as well. */
struct perf_event_attr attr_of(uint32_t type, uint64_t config);
struct perf_event_attr attr_software(uint64_t config);
/* A counter of page faults that runs as soon as it is open. */
struct perf_event_attr attr_counter(bool inherit);
/* Period-1 sampling of page faults: the event any process may have, exact to the last count. */
struct perf_event_attr attr_faults(uint64_t sample_type);
/* Cycles of the core's PMU, or instructions where it cannot count cycles. */
struct perf_event_attr attr_hardware(void);
/* A carrier of side-band records: the dummy event, or before v3.12 a software counter. */
struct perf_event_attr attr_sideband(void);

/* A breakpoint on data (HW_BREAKPOINT_R, _W, _RW), and one on a function's first instruction. */
struct perf_event_attr attr_access(uint32_t bp_type, const volatile void *address, uint64_t length);
struct perf_event_attr attr_call(void (*function)(void));

/* The answer to opening that attr for this task: 0, closed again, or -errno. */
int try_open(const struct perf_event_attr *attr);

/* How many more breakpoints a task can have: shows that an event really is gone. */
int count_free_breakpoints(pid_t tid);
/* All the write breakpoints that a task can still have, counting, each on a word of its own. */
#define SLOTS_MOST 64
struct slots {
	int count, error;		/* the errno that ended it, 0 when SLOTS_MOST fit */
	int fds[SLOTS_MOST];
	volatile int64_t words[SLOTS_MOST];
};
void slots_fill(struct slots *slots, pid_t tid);
void slots_close(struct slots *slots);
/* MODIFY_ATTRIBUTES of a breakpoint, with the size that pm_open() chose. Returns 0 or -errno. */
int modify_breakpoint(int fd, const struct perf_event_attr *attr);
/* Where in its file an address of this program lies; 0 when it is in none. */
uint64_t file_offset(const volatile void *address);

#endif
