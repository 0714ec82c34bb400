/* SPDX-License-Identifier: MIT */
/* One call of perf_event_open(2) as a plan has it; not installed. */
#ifndef PM_OPEN_H
#define PM_OPEN_H

#include "plan.h"

/*
 * Whether an open was refused for the event on that CPU, whoever asks: it may be one of a PMU that
 * is of other CPUs.
 */
bool pm_open_is_of_event(int err);

/*
 * Opens an event with an attr made from its own: through the broker, in the cgroup, with the
 * filter, as the plan says; one apart by its broker when it is refused to this process. For
 * PM_SYSTEM and PM_CGROUP `tid` is not looked at. Returns the descriptor or -errno; may write
 * attr->size.
 */
int pm_plan_open(const struct pm_plan *plan, const struct plan_event *event,
		 struct perf_event_attr *attr, pid_t tid, int cpu);

/*
 * The same, and what it tells goes into the ring of `output`, a descriptor (-1: none). That saves
 * the ioctl(2). For events of threads only, and not through a broker.
 */
int pm_plan_open_into(const struct pm_plan *plan, const struct plan_event *event,
		      struct perf_event_attr *attr, pid_t tid, int cpu, int output);

/* The same in the group that `leader`, a descriptor (-1: none), leads. A broker knows no groups. */
int pm_plan_open_led(const struct pm_plan *plan, const struct plan_event *event,
		     struct perf_event_attr *attr, pid_t tid, int cpu, int leader);

#endif
