/* SPDX-License-Identifier: MIT */
/* Counters of cycles, and what this PMU counts at all. */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../perfmodes.h"

#define MOST 16			/* more than a PMU has counters */

/* Started; each second one is the other of the generic hardware events. NULL where that fails. */
struct pm_counters *open_events(size_t count, uint64_t other, unsigned int flags,
				struct pm_diag *diag);
struct pm_counters *open_cycles(size_t count, unsigned int flags, struct pm_diag *diag);

/* QEMU 7.2 has one counter of riscv count an event: a second one stands at 0, by read(2), too. */
bool counts_twice(void);

/* Another event than cycles, where there is one. */
uint64_t other_event(void);

#endif
