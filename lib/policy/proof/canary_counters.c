/* SPDX-License-Identifier: MIT */
/*
 * A page fault is counted once, and the kernel accounts each for its thread without perf, too
 * (getrusage(2)). That is the bound on both sides. Nothing else is so exact: of two threads, one of
 * which has ended, clocks and times were seen to be a third of the CPU time of both (6.18).
 */
#include "canary_counters.h"

#include <stdio.h>
#include <string.h>

#include "canary_thread.h"

/* What the events of the calling thread say, by spec, and what it has done. */
struct own {
	struct {
		uint64_t value;
		bool here, any_cpu;
	} events[PLAN_EVENTS_MAX];
	struct canary_work work;
};

static bool look_at_events(const struct pm_session *session, struct own *ret)
{
	const struct event_list *events = &session->events;

	memset(ret->events, 0, sizeof(ret->events));
	for (size_t i = 0; i < events->count; i++) {
		const struct session_event *event = &events->list[i];
		struct pm_counts counts;

		if (event->tid != session->self)
			continue;
		if (pm_event_counts(events, event, &counts) < 0)
			return false;
		ret->events[event->spec].value += counts.member[0].value;
		ret->events[event->spec].here = true;
		ret->events[event->spec].any_cpu = event->cpu < 0;
	}
	return true;
}

/* Its work is noted first and last: it is all that the events may have counted, or more. */
static bool begin(const struct pm_session *session, struct own *ret)
{
	pm_canary_work(&ret->work);
	return look_at_events(session, ret);
}

static bool end(const struct pm_session *session, struct own *ret)
{
	if (!look_at_events(session, ret))
		return false;
	pm_canary_work(&ret->work);
	return ret->work.known;
}

/* What is wrong with an event of the calling thread; NULL: nothing that is known. */
static const char *complaint(const struct pm_session *session, size_t spec,
			     const struct own *before, const struct own *after)
{
	const struct plan_event *event = &session->plan->events[spec];
	const struct canary_work *theirs = &session->proof->canary.work;
	const uint64_t faults = after->work.faults - before->work.faults;
	const uint64_t counted = after->events[spec].value - before->events[spec].value;

	if (!after->events[spec].here || !before->work.known || !theirs->known ||
	    !pm_canary_is_fault(&event->spec))
		return NULL;
	/* Events of single CPUs count what is done there: canary_thread.c looks at each. */
	if (after->events[spec].any_cpu && counted + CANARY_SLACK <
	    faults + theirs->faults)
		return "did not count what was caused deliberately";
	if (counted > faults + theirs->faults + CANARY_SLACK)
		return "counted more than was caused deliberately";
	return NULL;
}

static int judge_own(const struct pm_session *session, const struct own *before,
		     const struct own *after, char *reason, size_t size)
{
	for (size_t i = 0; i < session->plan->count; i++) {
		const char *what = complaint(session, i, before, after);

		if (what == NULL)
			continue;
		snprintf(reason, size, "all opened, but event %zu %s", i, what);
		return -EIO;
	}
	return 0;
}

/* Nobody inherits: this very thread, if it is observed at all. */
static int judge_by_self(struct pm_session *session, char *reason, size_t size)
{
	struct own before, after;

	pm_canary_memory_make(&session->proof->memory);
	if (session->proof->memory.stack == NULL || !begin(session, &before))
		return 0;
	pm_canary_fault(&session->proof->memory, CANARY_COUNTED);
	if (!end(session, &after))
		return 0;
	session->proof->canary.work = (struct canary_work){ .known = true };
	return judge_own(session, &before, &after, reason, size);
}

static bool send_and_bury(struct pm_session *session, bool patient)
{
	bool useful = pm_canary_send(session, false, patient);

	pm_canary_bury(session);
	return useful;
}

/* What the thread caused is in the sums, of all threads or of all that runs. */
static int judge_sums(const struct pm_session *session, const struct pm_value *before,
		      const struct pm_value *after, char *reason, size_t size)
{
	for (size_t i = 0; i < session->plan->count; i++) {
		if (!pm_canary_can_cause(&session->plan->events[i]) ||
		    after[i].value > before[i].value)
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

int pm_canary_counters(struct pm_session *session, bool inherited, bool patient, char *reason,
		       size_t size)
{
	struct pm_value before[PLAN_EVENTS_MAX] = { { .size = sizeof(before[0]) } };
	struct pm_value after[PLAN_EVENTS_MAX] = { { .size = sizeof(after[0]) } };
	struct own own_before, own_after;
	int err;

	if (!inherited)
		return judge_by_self(session, reason, size);
	if (pm_sums_read(&session->sums, &session->events, before) < 0 ||
	    !begin(session, &own_before) || !send_and_bury(session, patient) ||
	    !end(session, &own_after) ||
	    pm_sums_read(&session->sums, &session->events, after) < 0)
		return 0;
	err = judge_sums(session, before, after, reason, size);
	return err < 0 ? err : judge_own(session, &own_before, &own_after, reason, size);
}
