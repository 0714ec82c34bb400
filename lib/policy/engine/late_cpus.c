/* SPDX-License-Identifier: MIT */
/*
 * CPUs that come and go under a session.
 *
 * Events of a thread on a CPU survive while the CPU is offline. But there are none on a CPU that
 * comes online after the attach, and what runs there would be missed in silence. And events of a
 * CPU, whatever runs there, die with it: most kernels tell nobody, and the events stay dead when
 * the CPU is back. So the online CPUs are looked at once a second while the session is polled or
 * read, and at the end. What happened before that is missing; `late_cpus` says so.
 *
 * Threads are listed anew for each such CPU, and those listings alone decide which source is the
 * right one there: a thread created after the attach inherits elsewhere, but has events of its own
 * here.
 */
#include "late_cpus.h"

#include <stdlib.h>
#include <string.h>

#include "../../pm_sys.h"
#include "../plan/cpus.h"
#include "../spec/now.h"
#include "engine.h"
#include "on_cpus.h"

#define LOOK_NS 1000000000

struct session_cpu *pm_late_cpus_find(const struct late_cpus *cpus, int cpu)
{
	for (size_t i = 0; i < cpus->count; i++)
		if (cpus->list[i].cpu == cpu)
			return &cpus->list[i];
	return NULL;
}

struct session_cpu *pm_late_cpus_make(struct late_cpus *cpus, int cpu)
{
	struct session_cpu *found = pm_late_cpus_find(cpus, cpu), *more;

	if (found != NULL)
		return found;
	more = realloc(cpus->list, (cpus->count + 1) * sizeof(*more));
	if (more == NULL)
		return NULL;
	cpus->list = more;
	more += cpus->count++;
	memset(more, 0, sizeof(*more));
	more->cpu = cpu;
	return more;
}

void pm_late_cpus_free(struct late_cpus *cpus)
{
	for (size_t i = 0; i < cpus->count; i++) {
		pm_liveness_stop(&cpus->list[i].liveness);
		pm_threads_free(&cpus->list[i].threads);
	}
	free(cpus->list);
	*cpus = (struct late_cpus){ .list = NULL };
}

/* ------------------------------------------------------------------------------------ coming */

static void account(struct pm_stats *stats, struct session_cpu *cpu, int err)
{
	/* Offline again, or the one thread that was to be observed has ended: nothing is missed. */
	if (err == -ENODEV || err == -ESRCH)
		return;
	if (err == 0)
		stats->late_cpus++;
	else
		stats->unwatched_cpus += !cpu->refused;
	cpu->refused = err < 0;
}

/* Attaches as if this CPU were the only one, and there were no listings but its own. */
static void attach_late(struct pm_session *session, struct session_cpu *cpu)
{
	const size_t events = session->events.count, rings = session->rings.count;
	const struct threads others = session->threads;
	const bool enabled = session->events.enabled;
	int number = cpu->cpu, err;

	pm_threads_free(&cpu->threads);
	session->threads = cpu->threads;
	session->events.enabled = !pm_plan_takes(session->plan, MODIFIER(GROUP));
	err = session->operations->attach_cpus(session, &(struct pm_cpus){ &number, 1 }, NULL);
	if (err < 0)
		pm_on_cpus_undo(session, events, rings);
	for (size_t i = events; i < session->events.count; i++)
		session->events.list[i].late = (uint32_t)(cpu - session->cpus.list) + 1;
	session->events.enabled = enabled;
	cpu->threads = session->threads;
	session->threads = others;
	account(&session->stats, cpu, err);
}

/* ------------------------------------------------------------------------------------- going */

/* What is in the ring is delivered, what was counted is kept; all else goes. */
static void let_go(struct pm_session *session, struct session_cpu *cpu)
{
	struct event_list *events = &session->events;

	(void)session->calls->drain(session);
	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].cpu == cpu->cpu)
			pm_sums_close(&session->sums, events, &events->list[i], cpu->folded);
	pm_events_forget_closed(events);
	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].cpu == cpu->cpu)
			pm_ring_close(&session->rings.list[i].ring);
	pm_rings_forget_closed(&session->rings);
	pm_liveness_stop(&cpu->liveness);
	cpu->ended = true;
}

static bool is_dead(const struct event_list *events, const struct session_event *event,
		    struct session_cpu *cpu, uint64_t now)
{
	const bool of_cgroup = events->plan->events[event->spec].spec.tid == PM_CGROUP;

	return pm_liveness_lost(&cpu->liveness, cpu->cpu, of_cgroup ? -1 : event->fd,
				events->read_format[event->spec], now);
}

/* The first event of a CPU speaks for all of them. Returns after each CPU that went. */
static bool let_one_go(struct pm_session *session, const struct pm_cpus *online)
{
	int last = -1;

	for (size_t i = 0; i < session->events.count; i++) {
		const struct session_event *event = &session->events.list[i];
		struct session_cpu *cpu;

		if (event->cpu == last)
			continue;
		last = event->cpu;
		cpu = pm_late_cpus_make(&session->cpus, event->cpu);
		if (cpu == NULL)
			return false;
		if (pm_cpus_hold(online, event->cpu) &&
		    !is_dead(&session->events, event, cpu, session->cpus.seen_at))
			continue;
		let_go(session, cpu);
		return true;
	}
	return false;
}

/* -------------------------------------------------------------------------------------- both */

static bool has_events(const struct pm_session *session, int cpu)
{
	for (size_t i = 0; i < session->events.count; i++)
		if (session->events.list[i].cpu == cpu)
			return true;
	return false;
}

struct possible {
	const struct pm_session *session;
	size_t count, observed;
};

static void note_possible(unsigned int cpu, void *context)
{
	struct possible *possible = context;

	possible->count++;
	possible->observed += has_events(possible->session, (int)cpu);
}

/* Each CPU that this machine may ever have has events, which stay while it is away. */
static bool is_complete(const struct pm_session *session)
{
	struct possible possible = { .session = session };
	char text[4096];

	return !(session->strategy->able & OWNED_BY_CPU) && session->plan->cpus[0] == '\0' &&
		pm_read_text("/sys/devices/system/cpu/possible", text, sizeof(text)) > 0 &&
		pm_cpulist_each(text, note_possible, &possible) >= 0 &&
		possible.count > 0 && possible.observed == possible.count;
}

bool pm_late_cpus_may_come(const struct pm_session *session)
{
	return session->operations->attach_cpus != NULL && !session->cpus.complete;
}

static void attach_missing(struct pm_session *session, const struct pm_cpus *online)
{
	for (size_t i = 0; i < online->count; i++) {
		struct session_cpu *cpu;

		if (has_events(session, online->list[i]))
			continue;
		cpu = pm_late_cpus_make(&session->cpus, online->list[i]);
		/* A broker that refused or went may take seconds to say so again. */
		if (cpu != NULL && !(cpu->refused && session->plan->via_broker))
			attach_late(session, cpu);
	}
}

void pm_late_cpus_follow(struct pm_session *session, bool at_once)
{
	const bool owned = session->strategy->able & OWNED_BY_CPU;
	struct pm_cpus online;
	const uint64_t now = pm_now();
	int err;

	if (session->operations->attach_cpus == NULL || session->draining)
		return;
	if (!at_once && session->cpus.seen_at != 0 && now - session->cpus.seen_at < LOOK_NS)
		return;
	session->cpus.seen_at = now;
	err = pm_cpus_list(session->plan->cpus, NULL, &online);
	if (err != 0 && err != -ENODEV)
		return;
	while (owned && let_one_go(session, &online))
		;
	attach_missing(session, &online);
	free(online.list);
	session->cpus.complete = is_complete(session);
}
