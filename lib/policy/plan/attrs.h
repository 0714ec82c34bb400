/* SPDX-License-Identifier: MIT */
/* From what is asked of an event to its perf_event_attr; not installed. */
#ifndef PM_ATTRS_H
#define PM_ATTRS_H

#include "plan.h"

/* Builds the attr of an event with the modifiers that are left. */
void pm_attr_build(const struct pm_plan *plan, struct plan_event *event);

/* Whether an event of the plan asks for that modifier, or an option does. */
bool pm_attr_asks(const struct pm_plan *plan, enum modifier modifier);

/* The modifiers that make a difference to an event apart, of those that are asked for. */
uint32_t pm_attr_of_event(const struct pm_plan *plan, const struct plan_event *event);

/* The modifier in words: "branches". Of those that facts tell of, NULL. */
const char *pm_attr_name(enum modifier modifier);

/* Leaves out all records but samples. */
void pm_plan_no_side(struct perf_event_attr *attr);

/* Makes counters of the events: no records, no ring, and no period that needs one. */
void pm_plan_as_counters(struct pm_plan *plan);

/* Whether a task-clock counts in place of the cpu-clock that is asked for. */
bool pm_takes_task_clock(const struct pm_plan *plan, const struct pm_event_spec *spec);

#endif
