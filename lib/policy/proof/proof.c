/* SPDX-License-Identifier: MIT */
/*
 * The canary shows that its own events arrive, and those that a new thread inherits. Events of
 * threads that ran before the attach belong to contexts of their own: that they are enabled shows
 * when such a thread runs, because the time for which they have been enabled then goes on. And a
 * session that delivers nothing may be one that nothing happens in, or a silent one: what its own
 * events have counted tells the two apart.
 *
 * Who does that: a filter that lets ioctl(2) return 0 without being called, so that nothing is
 * enabled; hypervisors whose PMU counts and interrupts nobody, or counts nothing on some cores; a
 * cgroup's first event on a CPU before v5.18 (the probe attach.cgroup.alone).
 */
#define _GNU_SOURCE
#include "proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "../spec/now.h"
#include "../spec/spec.h"
#include "canary.h"
#include "canary_thread.h"
#include "known.h"

#define RAN_NS 1000000		/* a thread that ran for so long has run with its events */
#define SELF_RAN_NS 200000	/* its events have run with it from the first on */
#define FIRST_WAIT_NS 1000000000
#define LAST_WAIT_NS 64000000000
#define PERIODS 4		/* so many must have given a sample */
#define SILENT_NS 200000000	/* of a clock whose period is not known, or goes by ticks */

static bool may_be_noted(const struct pm_session *session, const struct session_event *event)
{
	return event->tid > 0 && event->tid != session->self &&
		(event->fd >= 0 || (session->strategy->able & RING_PER_EVENT));
}

/* ns of CPU time of all threads but the calling one, roughly; 0: not known. */
static uint64_t used_by_others(void)
{
	uint64_t all, own;

	if (pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &all) < 0 ||
	    pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &own) < 0)
		return 0;
	return all > own ? all - own : 0;
}

/* Notes which threads have to show that their events are enabled. -ENOMEM. */
static int note_threads(struct pm_session *session)
{
	const struct event_list *events = &session->events;
	struct proof *proof = session->proof;
	pid_t last = 0;

	for (size_t i = 0; i < events->count; i++) {
		if (!may_be_noted(session, &events->list[i]) || events->list[i].tid == last)
			continue;
		if (proof->threads == NULL)
			proof->threads = malloc((events->count - i) * sizeof(*proof->threads));
		if (proof->threads == NULL)
			return -ENOMEM;
		last = events->list[i].tid;
		proof->threads[proof->thread_count].tid = last;
		if (pm_clock_ns(pm_thread_clock(last),
				&proof->threads[proof->thread_count].used) == 0)
			proof->thread_count++;
	}
	proof->others = proof->thread_count > 0 ? used_by_others() : 0;
	return 0;
}

enum progress { STANDS, MOVES, NOT_KNOWN };

/*
 * Whether any event of a thread that has run was enabled for some time, also before its counts
 * began at 0. Without descriptors the thread's rings tell: each of them holds its end at last.
 */
static enum progress look_at(const struct pm_session *session, pid_t tid, bool ended)
{
	const struct ring_set *rings = &session->rings;
	const struct event_list *events = &session->events;
	const bool by_rings = session->strategy->able & RING_PER_EVENT;
	enum progress found = by_rings && ended ? STANDS : NOT_KNOWN;

	for (size_t i = 0; by_rings && i < rings->count; i++)
		if (rings->list[i].tid == tid && rings->list[i].ring.base != NULL &&
		    pm_ring_head(&rings->list[i].ring) != 0)
			return MOVES;
	for (size_t i = 0; !by_rings && i < events->count; i++) {
		struct pm_counts counts;

		if (events->list[i].tid != tid ||
		    pm_event_counts(events, &events->list[i], &counts) < 0)
			continue;
		if (counts.time_enabled + events->list[i].base.enabled > 0)
			return MOVES;
		found = STANDS;
	}
	return found;
}

void pm_proof_ended(struct pm_session *session, pid_t tid)
{
	struct proof *proof = session->proof;

	for (size_t i = 0; i < proof->thread_count; i++) {
		if (proof->threads[i].tid != tid)
			continue;
		session->stats.silent_threads += look_at(session, tid, true) == STANDS;
		proof->threads[i] = proof->threads[--proof->thread_count];
		return;
	}
}

/* While attaching: no thread has run for so long when all together have not. */
static bool nobody_ran(const struct proof *proof)
{
	const uint64_t others = proof->wait == 0 && proof->others != 0 ? used_by_others() : 0;

	return others != 0 && others >= proof->others && others - proof->others < RAN_NS;
}

int pm_proof_threads(struct pm_session *session, char *reason, size_t size)
{
	struct proof *proof = session->proof;
	size_t kept = 0;
	int err = 0;

	session->stats.unproven_threads = proof->thread_count;
	if (nobody_ran(proof))
		return 0;
	for (size_t i = 0; i < proof->thread_count; i++) {
		const struct proof_thread thread = proof->threads[i];
		uint64_t used = 0;
		const bool ended = pm_clock_ns(pm_thread_clock(thread.tid), &used) < 0;
		enum progress found = NOT_KNOWN;

		/* It may have been past the end of its events before they were enabled. */
		if (ended && proof->wait == 0)
			continue;
		if (ended || used - thread.used >= RAN_NS)
			found = look_at(session, thread.tid, ended);
		if (found == NOT_KNOWN && !ended)
			proof->threads[kept++] = thread;
		if (found != STANDS)
			continue;
		session->stats.silent_threads++;
		err = -EIO;
		snprintf(reason, size, "all opened, but the events of thread %d stand still while "
			 "it runs", (int)thread.tid);
	}
	proof->thread_count = kept;
	session->stats.unproven_threads = kept;
	return err;
}

/* -------------------------------------------------------------------------------------- telling */

static size_t count_unvisited(const struct ring_set *rings)
{
	size_t count = 0;

	for (size_t i = 0; i < rings->count; i++)
		count += rings->list[i].sampled == 0 &&
			(rings->list[i].unvisited || !rings->list[i].canary);
	return count;
}

/* ns in user mode of the process, or of the calling thread, as the scheduler accounts it. */
static uint64_t user_time(int who)
{
	struct rusage usage;

	if (getrusage(who, &usage) != 0)
		return 0;
	return (uint64_t)usage.ru_utime.tv_sec * 1000000000 +
		(uint64_t)usage.ru_utime.tv_usec * 1000;
}

/* Only clocks that leave out the kernel are judged by it: see has_run_where_sampled(). */
static void begin_user_time(struct pm_session *session)
{
	for (size_t i = 0; i < session->plan->count; i++) {
		const struct plan_event *event = &session->plan->events[i];

		if (!event->attr.exclude_kernel || !pm_is_clock(&event->attr))
			continue;
		session->proof->user_all = user_time(RUSAGE_SELF);
		session->proof->user_self = user_time(RUSAGE_THREAD);
		return;
	}
}

/* A counter of all threads on any CPU: only page faults tell a new thread's from our own. */
static bool is_inherited_unseen(const struct pm_session *session, const struct plan_event *event)
{
	return session->rings.count == 0 && event->spec.tid == PM_ALL_THREADS &&
		session->events.count > 0 && session->events.list[0].cpu < 0 &&
		!session->plan->samples && !pm_is_page_fault(&event->spec);
}

/* Events of which the attach does not show that they count or are sampled. */
static size_t count_unproven(const struct pm_session *session)
{
	const struct pm_plan *plan = session->plan;
	size_t events = 0;

	if (session->operations->prove == NULL || session->proof->how == PROVEN_NEVER)
		return plan->count;
	for (size_t i = 0; i < plan->count; i++)
		events += is_inherited_unseen(session, &plan->events[i]) ||
			!pm_canary_can_cause(&plan->events[i]);
	return events;
}

/* Says in the plan and the statistics what could not be proven. */
static void tell(struct pm_session *session)
{
	const enum proving how = session->proof->how;
	struct pm_stats *stats = &session->stats;
	struct pm_plan *plan = session->plan;

	if (how != PROVEN_BEFORE)
		session->proof->unvisited = count_unvisited(&session->rings);
	stats->unproven_rings = session->proof->unvisited;
	stats->unproven_events = count_unproven(session);
	stats->children_counted = 0;
	for (size_t i = 0; i < plan->count; i++)
		stats->children_counted += pm_plan_counts_children(plan, &plan->events[i],
								   session->strategy->able);
	stats->unwatched_threads += session->threads.hidden;
	plan->unproven[0] = '\0';
	if (stats->unproven_events + stats->unproven_rings + stats->unproven_threads +
	    session->threads.hidden > 0)
		snprintf(plan->unproven, sizeof(plan->unproven), "%llu of %zu events, which %s; "
			 "%llu rings where the canary %s; %llu threads that have not run since; "
			 "%zu threads that /proc counts and does not list",
			 (unsigned long long)stats->unproven_events, plan->count,
			 how == PROVEN_NEVER ? "the options ask for (PM_PROVE_NEVER)" :
			 "cannot be caused on purpose",
			 (unsigned long long)stats->unproven_rings,
			 how == PROVEN_NEVER ? "did not go" : "could not go",
			 (unsigned long long)stats->unproven_threads, session->threads.hidden);
}

int pm_proof_attached(struct pm_session *session, char *reason, size_t size)
{
	const struct pm_stats *stats = &session->stats;
	struct proof *proof = session->proof;
	int err = note_threads(session);

	if (err < 0)
		return err;
	err = pm_canary(session, reason, size);
	if (err == 0)
		err = pm_proof_threads(session, reason, size);
	if (err < 0) {
		pm_known_forget();
		return err;
	}
	/* From here on it is looked at what the events tell while the session runs. */
	pm_standstill_attached(session);
	/* Forwarding could not be proven, and reading counts takes less than asking the broker. */
	if (session->plan->via_broker)
		pm_account_look(session);
	proof->wait = FIRST_WAIT_NS;
	begin_user_time(session);
	proof->looked_at = pm_now();
	tell(session);
	/* What was found out holds for others of this shape, unless some record was lost. */
	if (proof->how == PROVEN_NOW && session->operations->prove != NULL &&
	    stats->lost + stats->lost_samples + stats->corrupt + stats->unknown == 0)
		pm_known_add(proof->shape, proof->unvisited);
	return 0;
}

/* ------------------------------------------------------------------------------------ following */

static uint64_t enough(const struct plan_event *event)
{
	if (event->spec.period == 0)
		return pm_is_clock(&event->attr) ? SILENT_NS : UINT64_MAX;
	return event->spec.period < UINT64_MAX / PERIODS ? PERIODS * event->spec.period :
		UINT64_MAX;
}

/* Each thread that inherited an event may have counted a part of a period by it. */
static uint64_t enough_of_all(const struct pm_session *session, uint32_t spec)
{
	const struct plan_event *event = &session->plan->events[spec];
	const uint64_t least = enough(event), created = session->proof->account.created;

	if (pm_is_clock(&event->attr) || least > UINT64_MAX / (created + 1))
		return least;
	return least + created * event->spec.period;
}

/* Whether one of its events has counted what must have given a sample. */
static bool has_counted(const struct pm_session *session, uint32_t spec)
{
	const uint64_t least = enough_of_all(session, spec);

	for (size_t i = 0; i < session->events.count; i++) {
		struct pm_counts counts;

		if (session->events.list[i].spec == spec &&
		    pm_event_counts(&session->events, &session->events.list[i], &counts) == 0 &&
		    counts.member[0].value >= least)
			return true;
	}
	if (session->proof->cpu_time.event != spec)
		return false;
	return pm_cpu_time_used(session) >= SILENT_NS &&
		pm_cpu_time_used(session) / 16 >= session->plan->events[spec].spec.period;
}

/*
 * A clock that leaves out the kernel counts what runs there all the same: the kernel drops the
 * sample alone (perf_swevent_hrtimer() of linux). Such a one is silent only where as much has run
 * in user mode as no clock misses; of other processes and threads that is not known.
 */
static bool has_run_where_sampled(const struct pm_session *session, uint32_t spec)
{
	const struct plan_event *event = &session->plan->events[spec];
	const pid_t tid = event->spec.tid;
	uint64_t ran = 0;

	if (event->attr.exclude_user)
		return false;	/* how much has run in the kernel alone is not known */
	if (!event->attr.exclude_kernel || !pm_is_clock(&event->attr))
		return true;
	if (tid == PM_ALL_THREADS)
		ran = user_time(RUSAGE_SELF) - session->proof->user_all;
	else if ((tid == 0 || tid == session->self) && pm_gettid() == session->self)
		ran = user_time(RUSAGE_THREAD) - session->proof->user_self;
	return ran >= SILENT_NS && ran / 16 >= event->spec.period;
}

static void look_for_silence(struct pm_session *session)
{
	session->stats.silent_events = 0;
	for (uint32_t i = 0; i < session->plan->count; i++)
		session->stats.silent_events += pm_standstill_of(session, i) ||
			(session->plan->events[i].sampled && !(session->proof->seen & 1u << i) &&
			 has_counted(session, i) && has_run_where_sampled(session, i));
}

/* Whether the thread that attached has run for a while, and none of its events with it. */
static bool self_stands(const struct pm_session *session)
{
	const struct event_list *events = &session->events;
	const uint64_t before = session->proof->standstill.thread;
	uint64_t used = 0, enabled = 0;
	bool read = false;

	if (pm_gettid() != session->self || pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &used) < 0 ||
	    used < before || used - before < SELF_RAN_NS)
		return false;
	for (size_t i = 0; i < events->count; i++) {
		struct pm_counts counts;

		if (events->list[i].tid != session->self ||
		    pm_event_counts(events, &events->list[i], &counts) < 0)
			continue;
		read = true;
		if (counts.time_enabled > enabled)
			enabled = counts.time_enabled;
	}
	return read && enabled < (used - before) / 2;
}

static void look_at_self(struct pm_session *session)
{
	if (session->proof->self_silent || !self_stands(session))
		return;
	session->proof->self_silent = true;
	session->stats.silent_threads++;
}

void pm_proof_follow(struct pm_session *session, bool at_once)
{
	struct proof *proof = session->proof;
	char unused[REASON_SIZE];
	const uint64_t now = pm_now();

	if (!at_once && !session->proof->account.looked)
		pm_account_look(session);
	if (!at_once && now - proof->looked_at < proof->wait)
		return;
	proof->looked_at = now;
	if (proof->wait < LAST_WAIT_NS)
		proof->wait *= 2;
	(void)pm_proof_threads(session, unused, sizeof(unused));
	look_at_self(session);
	look_for_silence(session);
	if (at_once)
		return;
	/* All rings have been drained since the last look. */
	pm_account_judge(session);
	pm_account_look(session);
}

void pm_proof_leave(struct pm_session *session)
{
	session->proof->cpu_time.used = pm_cpu_time_used(session);
	if (session->proof->account.looked)
		pm_account_look(session);
	(void)session->calls->drain(session);
	pm_account_judge(session);
	pm_proof_follow(session, true);
	if (session->stats.silent_events + session->stats.silent_threads +
	    session->stats.incomplete_events > 0)
		pm_known_forget();
}

void pm_proof_reset(struct pm_session *session)
{
	memset(&session->proof->canary, 0, sizeof(session->proof->canary));
	memset(&session->proof->account, 0, sizeof(session->proof->account));
	session->proof->how = PROVEN_NOW;
	session->proof->shape = 0;
	pm_cpu_time_begin(session);
}

void pm_proof_free(struct pm_session *session)
{
	struct proof *proof = session->proof;

	/* The canary is still out where the attach failed. A forked child has no such thread. */
	pm_canary_memory_free(&proof->memory);
	free(proof->threads);
	proof->threads = NULL;
	proof->thread_count = 0;
	proof->others = proof->looked_at = proof->wait = proof->user_all = proof->user_self = 0;
	proof->self_silent = false;
	proof->seen = 0;
}
