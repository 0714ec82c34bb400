/* SPDX-License-Identifier: MIT */
/*
 * Strategies per_thread (a ring for each thread, nothing inherited) and count (inheriting counters
 * without rings).
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../session/attach.h"
#include "../diagnosis/diag.h"
#include "../profile/profile.h"

#define FOLLOW_NS 50000000	/* between two listings while nothing tells of a new thread */

struct opening {
	uint32_t spec;		/* of a failure */
	bool map_failed;
};

/* ----------------------------------------------------------------------------------- per_thread */

static int map_or_forward(struct pm_session *session, int at, int *leader)
{
	size_t pages = session->plan->ring_pages;
	int err;

	if (*leader >= 0)
		return pm_ioctl(session->events[at].fd, PERF_EVENT_IOC_SET_OUTPUT,
				(unsigned long)session->events[*leader].fd);
	do {
		err = pm_attach_map(session, (size_t)at, pages);
		pages /= 2;
	} while ((err == -EPERM || err == -ENOMEM) && pages > 0);
	*leader = at;
	return err;
}

static int open_rings(struct pm_session *session, pid_t tid, void *context)
{
	struct opening *opening = context;
	int leader = -1;

	for (uint32_t spec = 0; spec < session->plan->count; spec++) {
		int wanted = session->plan->events[spec].spec.tid, at, err;

		if (wanted != PM_ALL_THREADS && (wanted ? wanted : session->self) != tid)
			continue;
		opening->spec = spec;
		at = pm_attach_open(session, spec, tid, -1, false);
		if (at < 0)
			return at;
		err = map_or_forward(session, at, &leader);
		opening->map_failed = err < 0;
		if (err < 0)
			return err;
	}
	return 0;
}

/* Threads that came while we listed the others are found by the next listing. */
static int open_until_none_is_new(struct pm_session *session, struct opening *opening)
{
	for (unsigned int i = 0; i < session->plan->opts.rounds; i++) {
		int fresh = pm_attach_list(session, open_rings, opening);

		if (fresh <= 0)
			return fresh;
	}
	/* Nothing is inherited, so what is still new is found while polling like any other. */
	return 0;
}

static bool has_event_for_each(const struct pm_session *session)
{
	for (uint32_t spec = 0; spec < session->plan->count; spec++) {
		bool found = false;

		for (size_t i = 0; i < session->event_count; i++)
			found |= session->events[i].spec == spec;
		if (!found)
			return false;
	}
	return true;
}

static bool follows_threads(const struct pm_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.tid == PM_ALL_THREADS)
			return true;
	return false;
}

int pm_attach_per_thread(struct pm_session *session, struct pm_diag *diag)
{
	struct opening opening = { 0 };
	int err;

	err = open_until_none_is_new(session, &opening);
	if (err < 0 && opening.map_failed)
		return pm_diag_map(diag, 1, (size_t)sysconf(_SC_PAGESIZE), -err);
	if (err == 0 && !has_event_for_each(session))
		err = -ESRCH;
	if (err < 0)
		return pm_attach_refused(session, opening.spec, -1, err, diag);
	/* Nothing is inherited: threads that others made must not look like heirs. */
	session->threads.rounds = 1;
	if (session->plan->count > 1)
		err = pm_attach_index(session);
	if (err == 0)
		err = pm_attach_enable(session);
	session->follows = follows_threads(session->plan);
	(void)pm_clock_ns(CLOCK_MONOTONIC, &session->followed_at);
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "attach: enabling: %s",
				     pm_errno_name(-err)) : 0;
}

/* The ring of an ended thread has been drained: its events and memory go. */
static void let_go(struct pm_session *session, struct session_ring *ring)
{
	struct thread_mark *mark = pm_threads_mark(&session->threads, ring->tid, false);

	for (size_t i = 0; i < session->event_count; i++) {
		struct session_event *event = &session->events[i];

		if (event->tid != ring->tid || event->fd < 0)
			continue;
		pm_attach_fold(session, event);
		close(event->fd);
		event->fd = -1;
	}
	if (mark != NULL) {
		mark->listed = false;
		mark->round = 0;
	}
	pm_ring_close(&ring->ring);
}

static void close_since(struct pm_session *session, size_t events, size_t rings)
{
	while (session->ring_count > rings)
		pm_ring_close(&session->rings[--session->ring_count].ring);
	while (session->event_count > events)
		close(session->events[--session->event_count].fd);
}

static int open_late(struct pm_session *session, pid_t tid, void *context)
{
	size_t before = session->event_count, rings = session->ring_count;
	int err = open_rings(session, tid, context);

	for (size_t i = before; err == 0 && i < session->event_count; i++)
		err = pm_ioctl(session->events[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	if (err < 0)
		close_since(session, before, rings);
	return pm_attach_late(session, tid, err);
}

/* Who was announced and is not in the listing has ended already. */
static void forget_unseen(struct pm_session *session)
{
	for (size_t i = 0; i < session->threads.room; i++)
		if (!session->threads.marks[i].listed)
			session->threads.marks[i].announced = false;
}

void pm_follow_threads(struct pm_session *session)
{
	struct opening opening = { 0 };
	uint64_t now = 0;
	size_t before, ended = 0;

	if (!session->follows)
		return;
	for (size_t i = 0; i < session->ring_count; i++)
		if (session->rings[i].fd < 0 && session->rings[i].ring.base != NULL) {
			let_go(session, &session->rings[i]);
			ended++;
		}
	if (ended > 0)
		pm_attach_forget_ended(session);
	before = session->event_count;
	(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	if (session->followed_at != 0 && now - session->followed_at < FOLLOW_NS)
		return;
	session->followed_at = now;
	if (pm_attach_list(session, open_late, &opening) >= 0)
		forget_unseen(session);
	session->threads.rounds = 1;
	if (session->by_id != NULL && session->event_count > before)
		(void)pm_attach_index(session);
}

/* ---------------------------------------------------------------------------------------- count */

static int open_counters(struct pm_session *session, pid_t tid, void *context)
{
	struct opening *opening = context;

	for (uint32_t spec = 0; spec < session->plan->count; spec++) {
		int at;

		if (session->plan->events[spec].spec.tid != PM_ALL_THREADS)
			continue;
		opening->spec = spec;
		at = pm_attach_open(session, spec, tid, -1, true);
		if (at < 0)
			return at;
	}
	return 0;
}

static int open_single_counters(struct pm_session *session, struct opening *opening)
{
	for (uint32_t spec = 0; spec < session->plan->count; spec++) {
		int tid = session->plan->events[spec].spec.tid, at;

		if (tid == PM_ALL_THREADS)
			continue;
		opening->spec = spec;
		at = pm_attach_open(session, spec, tid, -1, false);
		if (at < 0)
			return at;
	}
	return 0;
}

/*
 * Counters cannot tell what a thread inherited from what it has of its own. So the listing must
 * stand still while it is opened; else all is undone and begun again, and in the end threads of
 * the last round are taken for heirs and counted as late.
 */
static int open_clean(struct pm_session *session, struct opening *opening)
{
	int fresh = 0, err;

	for (unsigned int i = 0; i < session->plan->opts.rounds; i++) {
		pm_attach_undo(session);
		err = open_single_counters(session, opening);
		if (err == 0 && follows_threads(session->plan)) {
			err = pm_attach_list(session, open_counters, opening);
			if (err >= 0)
				err = fresh = pm_attach_list(session, pm_attach_nothing, NULL);
		}
		if (err <= 0)
			return err;
	}
	session->stats.late_threads = (uint64_t)fresh;
	return 0;
}

void pm_attach_as_counters(struct pm_session *session)
{
	for (size_t i = 0; i < session->plan->count; i++) {
		struct perf_event_attr *attr = &session->plan->events[i].attr;

		attr->sample_period = attr->sample_type = 0;
		attr->freq = attr->comm = attr->task = attr->sample_id_all = 0;
		attr->watermark = attr->wakeup_events = 0;
	}
}

int pm_attach_count(struct pm_session *session, struct pm_diag *diag)
{
	struct opening opening = { 0 };
	int err;

	pm_attach_as_counters(session);
	err = open_clean(session, &opening);
	if (err == 0)
		err = pm_attach_enable(session);
	return err < 0 ? pm_attach_refused(session, opening.spec, -1, err, diag) : 0;
}
