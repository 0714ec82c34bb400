/* SPDX-License-Identifier: MIT */
/*
 * Strategy per_thread: a ring for each thread, nothing inherited. New threads are attached to as
 * they are noticed: by the FORK record of their parent, or by a listing.
 */
#include "../diagnosis/diag.h"
#include "../engine/wait.h"
#include "../plan/cost.h"
#include "../proof/canary.h"

struct opening {
	struct pm_session *session;
	uint32_t spec;		/* of a failure */
	bool map_failed, forward_failed;
};

static void cost(const struct pm_plan *plan, struct pm_cost *ret)
{
	pm_cost_hold(ret, pm_cost_targets(plan, ret->threads));
	ret->rings = ret->threads;
}

/* -------------------------------------------------------------------------------------- opening */

static int map_or_forward(struct ring_set *rings, const struct session_event *event, int *leader)
{
	if (*leader >= 0)
		return pm_ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)*leader);
	*leader = event->fd;
	return pm_rings_map_less(rings, event);
}

static int open_rings(pid_t tid, void *context)
{
	struct opening *opening = context;
	struct pm_session *session = opening->session;
	struct session_event wanted = { .tid = tid, .cpu = -1, .round = session->threads.rounds };
	int leader = -1;

	for (; wanted.spec < session->plan->count; wanted.spec++) {
		int target = session->plan->events[wanted.spec].spec.tid, at, err;

		if (target != PM_ALL_THREADS && (target ? target : session->self) != tid)
			continue;
		opening->spec = wanted.spec;
		at = pm_events_open(&session->events, &wanted, false);
		if (at < 0)
			return at;
		opening->forward_failed = leader >= 0;
		err = map_or_forward(&session->rings, &session->events.list[at], &leader);
		opening->map_failed = err < 0;
		if (err < 0)
			return err;
	}
	return 0;
}

/* Threads that came while we listed the others are found by the next listing. */
static int open_until_none_is_new(struct opening *opening)
{
	struct pm_session *session = opening->session;

	for (unsigned int i = 0; i < session->plan->opts.rounds; i++) {
		int fresh = pm_threads_list(&session->threads, open_rings, opening);

		if (fresh <= 0)
			return fresh;
	}
	/* Nothing is inherited, so what is still new is found while polling like any other. */
	return 0;
}

static bool has_event_for_each(const struct event_list *events)
{
	for (uint32_t spec = 0; spec < events->plan->count; spec++) {
		bool found = false;

		for (size_t i = 0; i < events->count; i++)
			found |= events->list[i].spec == spec;
		if (!found)
			return false;
	}
	return true;
}

static int attach(struct pm_session *session, struct pm_diag *diag)
{
	struct opening opening = { .session = session };
	int err = open_until_none_is_new(&opening);

	if (err < 0 && opening.map_failed && opening.forward_failed)
		return pm_diag_say(diag, -err, PM_CAUSE_UNSUPPORTED, "PERF_EVENT_IOC_SET_OUTPUT "
				   "between events of a thread: %s", pm_errno_name(-err));
	if (err < 0 && opening.map_failed)
		return pm_diag_map(diag, 1, (size_t)sysconf(_SC_PAGESIZE), -err);
	if (err == 0 && !has_event_for_each(&session->events))
		err = -ESRCH;
	/* Nothing is inherited, so no thread may look as if it had two sources. */
	session->threads.rounds = 1;
	if (err == 0 && session->plan->count > 1)
		err = pm_ids_index(&session->ids, &session->events);
	if (err < 0)
		return pm_events_refused(&session->events, opening.spec, -1, err, diag);
	pm_follow_begin(session, pm_plan_watches_all(session->plan));
	return pm_events_enable(&session->events, diag);
}

/* ------------------------------------------------------------------------------------ following */

/* The ring of an ended thread has been drained: its events and memory go. */
static void let_go(struct pm_session *session, struct session_ring *ring)
{
	pm_proof_ended(session, ring->tid);
	for (size_t i = 0; i < session->events.count; i++) {
		struct session_event *event = &session->events.list[i];

		if (event->tid == ring->tid && event->fd >= 0)
			pm_sums_close(&session->sums, &session->events, event, NULL);
	}
	pm_threads_forget(&session->threads, ring->tid);
	pm_ring_close(&ring->ring);
}

static void let_go_of_ended(struct pm_session *session)
{
	size_t ended = 0;

	for (size_t i = 0; i < session->rings.count; i++) {
		struct session_ring *ring = &session->rings.list[i];

		if (ring->fd >= 0 || ring->ring.base == NULL)
			continue;
		let_go(session, ring);
		ended++;
	}
	if (ended == 0)
		return;
	pm_events_forget_closed(&session->events);
	pm_rings_forget_closed(&session->rings);
}

static int open_late(pid_t tid, void *context)
{
	struct pm_session *session = ((struct opening *)context)->session;
	size_t before = session->events.count, rings = session->rings.count;
	int err = open_rings(tid, context);

	for (size_t i = session->events.count; err == 0 && i-- > before;)
		err = pm_ioctl(session->events.list[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	if (err < 0) {
		pm_rings_close_since(&session->rings, rings);
		pm_events_close_since(&session->events, before);
	}
	return pm_threads_late(&session->threads, &session->stats, tid, err);
}

/* A thread that was announced and is not in the listing has ended already. */
static void forget_unseen(struct threads *threads)
{
	for (size_t i = 0; i < threads->room; i++)
		if (!threads->marks[i].listed)
			threads->marks[i].announced = false;
}

static void follow(struct pm_session *session)
{
	struct opening opening = { .session = session };

	if (!session->follows)
		return;
	let_go_of_ended(session);
	if (!pm_follow_is_due(session))
		return;
	if (pm_threads_list(&session->threads, open_late, &opening) >= 0)
		forget_unseen(&session->threads);
	session->threads.rounds = 1;
}

static const struct operations operations = {
	.attach = attach,
	.follow = follow,
	.prove = pm_canary_inherits,
};

#define NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("output.chain.one_link", false)
PM_NEEDS(per_thread, NEEDS);

const struct strategy pm_strategy_per_thread = {
	.name = "per_thread",
	.what = "one ring a thread; what new threads do until they are noticed is missing, which "
		"late_threads tells: where threads come and go that is nearly all",
	.able = FOR_SELF | USES_PERF | CAN_SAMPLE | USES_RINGS | GIVES_SUMS |
		GIVES_GROUPS,
	.needs = needs_per_thread,
	.proof = "output.chain.one_link",
	.cost = cost,
	.operations = &operations,
};
