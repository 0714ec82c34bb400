/* SPDX-License-Identifier: MIT */
/* What events have counted beside what their samples stand for; not installed. */
#ifndef PM_ACCOUNT_H
#define PM_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "../plan/plan.h"

struct pm_session;

struct account {
	uint64_t sampled[PLAN_EVENTS_MAX];	/* sums of periods but for the canary's, by spec */
	struct {
		uint64_t counted, sampled;
	} base[PLAN_EVENTS_MAX];		/* at the first look */
	uint64_t counted[PLAN_EVENTS_MAX];	/* at the last look */
	uint32_t incomplete;			/* by spec */
	uint64_t created;			/* threads that were told to be new */
	bool looked;
};

/*
 * Sums have been read for the caller. An event whose time running is longer than its time enabled,
 * again and again, is incomplete: kernels before v6.15 lost time enabled of threads that had ended.
 */
void pm_account_times(struct pm_session *session, const struct pm_value *values);

/*
 * Notes what the events have counted by now. What has come before the next drain ends must make it
 * up: pm_account_judge.
 */
void pm_account_look(struct pm_session *session);

/*
 * Every ring has been drained since the last look, if there was one: counts the events that are
 * incomplete.
 */
void pm_account_judge(struct pm_session *session);

#endif
