/* SPDX-License-Identifier: MIT */
/*
 * The kernel accounts for each event how long it has run, and a software event, a tracepoint or a
 * breakpoint runs whenever its thread does, or its CPU is online. The clocks of threads, of the
 * process and of the machine say how long that must have been. Other code of this process stops
 * all of its events by prctl(PR_TASK_PERF_EVENTS_DISABLE), and those of a CPU stop with the CPU.
 */
#define _GNU_SOURCE
#include "standstill.h"

#include <sched.h>
#include <time.h>

#include "proof.h"
#include "../spec/now.h"

#define ENOUGH_NS 10000000	/* longer than any tick; a shorter session is not judged */
#define LOOKS 50000		/* where the clock stands still, too */
#define TRIES 8			/* of a thread that moves to another CPU meanwhile */

/* ----------------------------------------------------------------------------- since the attach */

void pm_standstill_attached(struct pm_session *session)
{
	struct standstill *still = &session->proof->standstill;

	still->process = still->thread = UINT64_MAX;
	(void)pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &still->process);
	(void)pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &still->thread);
}

/* ns of CPU time that what a spec observes has used since; 0: not known, or only with others'. */
static uint64_t used_since(const struct pm_session *session, const struct plan_event *event)
{
	const struct standstill *still = &session->proof->standstill;
	const bool all = event->spec.tid == PM_ALL_THREADS;
	const uint64_t before = all ? still->process : still->thread;
	uint64_t now;

	if ((!all && event->spec.tid != 0) ||
	    pm_clock_ns(all ? CLOCK_PROCESS_CPUTIME_ID : pm_thread_clock(session->self), &now) < 0)
		return 0;
	return now > before ? now - before : 0;
}

/* Together they have run for less than half of the time that their threads have. */
static bool lags_behind(const struct pm_session *session, uint32_t spec)
{
	const uint64_t used = used_since(session, &session->plan->events[spec]);
	struct pm_value values[PLAN_EVENTS_MAX];

	return used >= ENOUGH_NS && session->stats.late_threads == 0 &&
		session->stats.unwatched_threads == 0 &&
		!(session->strategy->able & RING_PER_EVENT) &&
		pm_sums_read(&session->sums, &session->events, values) == 0 &&
		values[spec].running < used / 2;
}

bool pm_standstill_event(const struct event_list *events, const struct session_event *event)
{
	struct pm_counts first, next;
	uint64_t begin = 0, now = 0;
	int looks = 0;

	if (event->late != 0 || pm_event_counts(events, event, &first) < 0)
		return false;
	begin = pm_now();
	do {
		if (pm_event_counts(events, event, &next) < 0 ||
		    next.time_enabled != first.time_enabled)
			return false;
		now = pm_now();
	} while (++looks < LOOKS && now - begin < ENOUGH_NS);
	return true;
}

/* Whether the event where this thread runs stands, and it ran there all the while. */
static bool stands_here(const struct pm_session *session, uint32_t spec)
{
	bool moved = true;

	for (int i = 0; moved && i < TRIES; i++) {
		const int cpu = sched_getcpu();

		moved = false;
		for (size_t k = 0; !moved && k < session->events.count; k++) {
			const struct session_event *event = &session->events.list[k];

			if (event->spec != spec || event->cpu != cpu ||
			    !pm_standstill_event(&session->events, event))
				continue;
			if (sched_getcpu() == cpu)
				return true;
			moved = true;
		}
	}
	return false;
}

static bool one_stands(const struct pm_session *session, uint32_t spec)
{
	const struct plan_event *planned = &session->plan->events[spec];

	if (planned->spec.tid == PM_CGROUP)
		return planned->around_us && stands_here(session, spec);
	for (size_t i = 0; i < session->events.count; i++)
		if (session->events.list[i].spec == spec &&
		    pm_standstill_event(&session->events, &session->events.list[i]))
			return true;
	return false;
}

bool pm_standstill_of(const struct pm_session *session, uint32_t spec)
{
	const uint64_t able = session->strategy->able;

	if (able & OWNED_BY_CPU)
		return one_stands(session, spec);
	return ((able & USES_PERF) || session->plan->via_broker) &&
		pm_takes_no_turns(session->plan->events[spec].attr.type) &&
		lags_behind(session, spec);
}
