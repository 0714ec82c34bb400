/* SPDX-License-Identifier: MIT */
/* Whether task-clock counts in place of cpu-clock; not installed. */
#ifndef PM_TASK_CLOCK_H
#define PM_TASK_CLOCK_H

#include "../profile/profile.h"
#include "../spec/spec.h"

/*
 * True for a cpu-clock of threads that only counts, where the profile says that it loses what it
 * has counted whenever its thread is switched out (Linux 6.16 and early 6.17). On a thread,
 * task-clock counts the same: nanoseconds on a CPU.
 */
bool pm_needs_task_clock(const struct pm_profile *profile, const struct pm_event_spec *spec);

/* The fact that says so, as text. */
void pm_task_clock_why(const struct pm_profile *profile, char *ret, size_t size);

#endif
