/* SPDX-License-Identifier: MIT */
/*
 * The kernel accounts for each event how long it has run, and a software event, a tracepoint or a
 * breakpoint runs whenever its thread does, or its CPU is online. The clocks of threads, of the
 * process and of the machine say how long that must have been.
 */
#define _GNU_SOURCE
#include "standstill.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "proof.h"

#define SLACK_NS 3000		/* between reading a clock and reading an event */
#define WORK_NS 100000		/* to confirm a suspicion */
#define ENOUGH_NS 10000000	/* longer than any tick; a shorter session is not judged */
#define LOOKS 50000		/* where the clock stands still, too */
#define TRIES 8			/* of a thread that moves to another CPU meanwhile */
#define MUCH 4			/* times that a thread has run: its events are another's */

static bool is_never_multiplexed(const struct plan_event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE ||
		event->attr.type == PERF_TYPE_TRACEPOINT ||
		event->attr.type == PERF_TYPE_BREAKPOINT;
}

/* ------------------------------------------------------------------------------------- sleepers */

/* ns that the events of a thread have run, of the first spec that it has events of. */
static uint64_t ran_of(const struct event_list *events, pid_t tid)
{
	uint32_t spec = UINT32_MAX;
	uint64_t ran = 0;

	for (size_t i = 0; i < events->count; i++) {
		const struct session_event *event = &events->list[i];
		struct pm_counts counts;

		if (event->tid != tid || (spec != UINT32_MAX && event->spec != spec))
			continue;
		spec = event->spec;
		if (pm_event_counts(events, event, &counts) == 0)
			ran += counts.time_running;
	}
	return ran;
}

/* What its events have run, and it. */
struct ran {
	uint64_t events, thread;	/* ns */
	uint64_t apart;			/* ns that it ran between the two questions */
};

/* A thread that runs meanwhile, or we that do not, put them apart: the closest of some tries. */
static bool ask_both(const struct pm_session *session, pid_t tid, struct ran *ret)
{
	*ret = (struct ran){ .apart = UINT64_MAX };
	for (int i = 0; ret->apart > SLACK_NS && i < TRIES; i++) {
		uint64_t before, events, after;

		if (pm_clock_ns(pm_thread_clock(tid), &before) < 0)
			return false;
		events = ran_of(&session->events, tid);
		if (pm_clock_ns(pm_thread_clock(tid), &after) < 0 || after < before)
			return false;
		if (after - before < ret->apart)
			*ret = (struct ran){ events, before, after - before };
	}
	return true;
}

/* While this thread works so long, do the events of that one run, and it hardly does? */
static bool run_alone(struct pm_session *session, pid_t tid, uint64_t work)
{
	uint64_t begin = 0, now, events, thread;
	struct ran first, last;
	int looks = 0;

	if (!ask_both(session, tid, &first) || pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &begin) < 0)
		return false;
	now = begin;
	while (++looks < LOOKS && now - begin < work &&
	       pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now) == 0)
		;
	if (!ask_both(session, tid, &last))
		return false;
	events = last.events - first.events;
	thread = last.thread - first.thread;
	return events > MUCH * thread + first.apart + last.apart + work / 4;
}

/*
 * A thread that sleeps may wake now and then, and often where this one waits for its CPU. One that
 * is busy runs for less time than its events do: its clock leaves out interrupts and, in a guest,
 * what the host took away. So the events have to run for much longer, and more than once.
 */
static bool run_without(struct pm_session *session, pid_t tid)
{
	int alone = 0;

	for (uint64_t work = WORK_NS; work <= 8 * WORK_NS && alone < 2; work *= 2)
		alone += run_alone(session, tid, work);
	return alone == 2 && pm_threads_unlisted(&session->threads) == 0;
}

/* Whether its events have not run for as long as it has since they were opened. */
static bool is_suspicious(const struct pm_session *session, const struct thread_noted *noted)
{
	const uint64_t ran = ran_of(&session->events, noted->tid);
	uint64_t used, off;

	if (pm_clock_ns(pm_thread_clock(noted->tid), &used) < 0)
		return false;
	used -= noted->used;
	off = ran > used ? ran - used : used - ran;
	return off > SLACK_NS + used / 64;
}

int pm_standstill_sleepers(struct pm_session *session, char *reason, size_t size)
{
	const struct threads *threads = &session->threads;

	/* Threads that it has made meanwhile run for its events, too. */
	for (size_t i = 0; threads->rounds <= 1 && i < THREADS_NOTED; i++) {
		const struct thread_noted *noted = &threads->noted[i];

		if (noted->tid == 0 || !is_suspicious(session, noted) ||
		    !run_without(session, noted->tid))
			continue;
		snprintf(reason, size, "all opened, but the events of thread %d run while it "
			 "sleeps: they are those of another", (int)noted->tid);
		return -EIO;
	}
	return 0;
}

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

/*
 * The time of an enabled event goes on from one look to the next, or by the tick of a coarse clock,
 * while its CPU is online. A cgroup's does while a task of it runs there, as this one may.
 */
static bool stands(const struct pm_session *session, const struct session_event *event)
{
	struct pm_counts first, next;
	uint64_t begin = 0, now = 0;
	int looks = 0;

	if (event->late != 0 || pm_event_counts(&session->events, event, &first) < 0)
		return false;
	(void)pm_clock_ns(CLOCK_MONOTONIC, &begin);
	do {
		if (pm_event_counts(&session->events, event, &next) < 0 ||
		    next.time_enabled != first.time_enabled)
			return false;
		(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
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

			if (event->spec != spec || event->cpu != cpu || !stands(session, event))
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
		    stands(session, &session->events.list[i]))
			return true;
	return false;
}

bool pm_standstill_of(const struct pm_session *session, uint32_t spec)
{
	const uint64_t able = session->strategy->able;

	if (able & OWNED_BY_CPU)
		return one_stands(session, spec);
	return ((able & USES_PERF) || session->plan->via_broker) &&
		is_never_multiplexed(&session->plan->events[spec]) && lags_behind(session, spec);
}
