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

/* An attr of any type for this task's own user-mode work: disabled, exclude_kernel, exclude_hv.
 * On a core PMU that cannot exclude, it counts the kernel's work as well. */
struct perf_event_attr attr_of(uint32_t type, uint64_t config);
/* The same for a software event. */
struct perf_event_attr attr_software(uint64_t config);
/* An attr for a counter of page faults that runs as soon as it is open. */
struct perf_event_attr attr_counter(bool inherit);
/*
 * An attr that samples every page fault. Any process may have this event, and its count is exact.
 */
struct perf_event_attr attr_faults(uint64_t sample_type);
/* An attr for side-band records alone: the dummy event, or a software counter before v3.12. */
struct perf_event_attr attr_sideband(void);



#endif
