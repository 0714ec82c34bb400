/* SPDX-License-Identifier: MIT */
/*
 * Of page faults it is known how many there were, at least: what this thread did besides the kernel
 * accounts without perf, too. Nothing else is so exact: of two threads, one of which has ended,
 * clocks and times were seen to be a third of the CPU time of both (6.18).
 */
#include "canary.h"

#include <stdio.h>

#include "canary_thread.h"

static bool must_count(const struct pm_session *session, const struct plan_event *event,
		       bool inherited)
{
	return inherited ? pm_canary_can_cause(event) : pm_is_page_fault(&event->spec) &&
		(event->spec.tid == 0 || event->spec.tid == session->self);
}

/* What was caused is in the sums, of all threads or of all that runs, beside `own` faults. */
static int judge(const struct pm_session *session, bool inherited, uint64_t own,
		 const struct pm_value *before, const struct pm_value *after, char *reason,
		 size_t size)
{
	for (size_t i = 0; i < session->plan->count; i++) {
		const struct plan_event *event = &session->plan->events[i];
		const uint64_t least = pm_is_page_fault(&event->spec) ?
			own + session->proof->memory.faults / 2 : 1;

		if (!must_count(session, event, inherited) ||
		    after[i].value - before[i].value >= least)
			continue;
		snprintf(reason, size, "all opened, but event %zu, caused deliberately, was not "
			 "counted", i);
		return -EIO;
	}
	if (session->proof->canary.miscounted == 0)
		return 0;
	snprintf(reason, size, "all opened, but the counter of cpu %d does not tell what a thread "
		 "does there", session->proof->canary.miscounted - 1);
	return -EIO;
}

/* Nobody inherits: this very thread does it, if it is observed at all. */
static void cause_by_self(struct canary_memory *memory)
{
	pm_canary_memory_make(memory);
	memory->faults = 0;
	pm_canary_fault(memory, CANARY_COUNTED);
}

int pm_canary_counters(struct pm_session *session, bool inherited, bool patient, char *reason,
		       size_t size)
{
	struct pm_value before[PLAN_EVENTS_MAX], after[PLAN_EVENTS_MAX];
	/* Events of CPUs do not have what this thread does elsewhere. */
	const bool has_own = inherited && session->events.count > 0 &&
		session->events.list[0].cpu < 0;
	bool caused = true;
	uint64_t own;

	if (pm_sums_read(&session->sums, &session->events, before) < 0)
		return 0;
	own = pm_threads_own_faults();
	if (inherited)
		caused = pm_canary_send(session, false, patient);
	else
		cause_by_self(&session->proof->memory);
	pm_canary_bury(session);
	own = has_own ? pm_threads_own_faults() - own : 0;
	if (!caused || pm_sums_read(&session->sums, &session->events, after) < 0)
		return 0;
	return judge(session, inherited, own, before, after, reason, size);
}
