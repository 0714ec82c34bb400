/* SPDX-License-Identifier: MIT */
/* Samples in user mode by event-based branches, on Power alone. */
#include "../perfmodes_ebb.h"

#ifdef PM_HAS_EBB

#include <errno.h>
#include <stdio.h>

#include "doctor.h"

#define PERIOD 1000000
#define WORK_NS 20000000

static int refuse(const char *call, int err, const struct pm_diag *diag, struct pm_refusal *ret)
{
	snprintf(ret->call, sizeof(ret->call), "%s", call);
	ret->error = -err;
	ret->cause = diag->cause;
	snprintf(ret->gate, sizeof(ret->gate), "%.*s", (int)sizeof(ret->gate) - 1, diag->text);
	ret->change[0] = '\0';
	return err;
}

int go_branches(const struct attempt *attempt, struct pm_refusal *refusal, char *how)
{
	struct pm_ebb_counter counter = { .size = sizeof(counter), .period = PERIOD };
	const struct pm_ebb_opts opts = {
		.size = sizeof(opts), .counters = &counter, .count = 1, .flags = PM_EBB_USER_ONLY,
	};
	struct pm_ebb_stats stats = { .size = sizeof(stats) };
	struct pm_diag diag = { .size = sizeof(diag) };
	struct pm_ebb *ebb;
	int err = pm_ebb_code("cycles", &diag, &counter.code);

	(void)attempt;
	if (err == 0)
		err = pm_ebb_open(&opts, &diag, &ebb);
	if (err < 0)
		return refuse("perf_event_open(cycles, for branches)", err, &diag, refusal);
	err = pm_ebb_start(ebb, &diag);
	if (err == 0)
		doctor_work(WORK_NS);
	(void)pm_ebb_stats(ebb, &stats);
	pm_ebb_destroy(ebb);
	if (err < 0)
		return refuse("start of event-based branches", err, &diag, refusal);
	if (stats.branches == 0) {
		diag.cause = PM_CAUSE_SILENCE;
		snprintf(diag.text, sizeof(diag.text), "the event is on the PMU, and no branch "
			 "came: emulators lose them");
		return refuse("start of event-based branches", -EIO, &diag, refusal);
	}
	snprintf(how, HOW_SIZE, "event-based branches (EBB)");
	return 0;
}

#endif
