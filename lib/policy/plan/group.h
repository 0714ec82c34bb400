/* SPDX-License-Identifier: MIT */
/* Events that are opened as a group; not installed. */
#ifndef PM_GROUP_H
#define PM_GROUP_H

#include "plan.h"

/*
 * The event that leads the group of this one, itself perhaps: the first one of the plan that wants
 * to be in a group with its target on its kind of cores. NULL: it is in no group.
 */
const struct plan_event *pm_group_leader(const struct pm_plan *plan,
					 const struct plan_event *event);

/* The same where another event leads it; else NULL. */
const struct plan_event *pm_group_led_by(const struct pm_plan *plan,
					 const struct plan_event *event);

/* Sets what its samples and read(2) tell of the group, if the plan has groups. */
void pm_group_set(const struct pm_plan *plan, const struct plan_event *event,
		  struct perf_event_attr *attr);

/* Whether the strategy gives values of groups where they are asked for; else says why not. */
int pm_group_suits(const struct pm_plan *plan, struct candidate *candidate);

/* Whether it runs whenever it is enabled and its thread is there: nothing takes its place. */
bool pm_group_is_always_on(const struct pm_plan *plan, const struct plan_event *event);

/*
 * From the times of a group in a sample to those that make its share of time: both are 0 where they
 * do not tell it. `able` is of the strategy in use.
 */
void pm_group_times(const struct pm_plan *plan, unsigned int able, const struct plan_event *event,
		    uint64_t *enabled, uint64_t *running);

/* No strategy that gives them is left: the plan does without, and says so. False: it has none. */
bool pm_group_give_up(struct pm_plan *plan);

/* Of what the values are and whether their times are known, for pm_plan_explain. */
const char *pm_group_share(const struct pm_plan *plan, const struct plan_event *event);
const char *pm_group_whose(const struct pm_plan *plan);

#endif
