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
/* A carrier of side-band records: the dummy event, or before v3.12 a software counter. */
struct perf_event_attr attr_sideband(void);


/* The answer to opening that attr for this task: 0, closed again, or -errno. */
int try_open(const struct perf_event_attr *attr);


#endif
