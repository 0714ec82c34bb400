/* SPDX-License-Identifier: MIT */
/*
 * Threads are born while a session attaches, and may have inherited the events that their makers
 * had by then. So opening starts over until no thread was born meanwhile. After the last attempt a
 * thread that appears in a later listing gets events of its own beside the inherited ones;
 * threads.h tells the two apart by their ids, but two software events that one occurrence hits
 * have the same id in their samples (seen on 6.18).
 */
#include "on_cpus.h"

#include <stdlib.h>

#include "../diagnosis/diag.h"

struct opening {
	struct pm_session *session;
	const struct pm_cpus *cpus;
	each_opened *each;
	struct pm_diag *diag;		/* filled in already where `each` failed */
	struct session_event failed;	/* what could not be opened */
	bool each_failed;
};

int pm_on_cpus_attach(struct pm_session *session, struct pm_diag *diag)
{
	struct pm_cpus cpus;
	int err = pm_cpus_list(session->plan->cpus, diag, &cpus);

	if (err < 0)
		return err;
	err = session->operations->attach_cpus(session, &cpus, diag);
	free(cpus.list);
	return err;
}

void pm_on_cpus_undo(struct pm_session *session, size_t events, size_t rings)
{
	pm_rings_close_since(&session->rings, rings);
	pm_events_close_since(&session->events, events);
	pm_threads_free(&session->threads);
}

/* -------------------------------------------------------------------------------------- opening */

static int open_on_each(struct opening *opening, uint32_t spec, pid_t tid)
{
	struct pm_session *session = opening->session;
	struct session_event wanted = {
		.spec = spec, .tid = tid, .round = session->threads.rounds,
	};
	const bool inherit = session->plan->events[spec].spec.tid == PM_ALL_THREADS;

	for (size_t i = 0; i < opening->cpus->count; i++) {
		int at;

		wanted.cpu = opening->cpus->list[i];
		at = pm_events_open(&session->events, &wanted, inherit);
		if (at < 0) {
			opening->failed = wanted;
			return at;
		}
		at = opening->each ? opening->each(session, &session->events.list[at],
							  opening->diag) : 0;
		if (at < 0) {
			opening->each_failed = true;
			return at;
		}
	}
	return 0;
}

static int open_for_thread(pid_t tid, void *context)
{
	struct opening *opening = context;
	const struct pm_plan *plan = opening->session->plan;

	for (uint32_t spec = 0; spec < plan->count; spec++) {
		int err;

		if (plan->events[spec].spec.tid != PM_ALL_THREADS)
			continue;
		/* If the thread ends meanwhile, what was opened for it stays and does no harm. */
		err = open_on_each(opening, spec, tid);
		if (err < 0)
			return err;
	}
	return 0;
}

static int open_single(struct opening *opening)
{
	const struct pm_session *session = opening->session;

	for (uint32_t spec = 0; spec < session->plan->count; spec++) {
		int tid = session->plan->events[spec].spec.tid, err;

		if (tid == PM_ALL_THREADS)
			continue;
		/* On CPUs that come later, another thread than the observed one may do this. */
		if (tid == 0 && pm_gettid() != session->self)
			tid = session->self;
		err = open_on_each(opening, spec, tid);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Returns 0 when no thread was born meanwhile, how many otherwise. */
static int open_one_listing(struct opening *opening)
{
	struct threads *threads = &opening->session->threads;
	int err = open_single(opening);

	if (err < 0 || !pm_plan_watches_all(opening->session->plan))
		return err;
	err = pm_threads_list(threads, open_for_thread, opening);
	return err < 0 ? err : pm_threads_list(threads, NULL, NULL);
}

static int open_all_listings(struct opening *opening, unsigned int listings)
{
	int err = open_single(opening);

	for (unsigned int i = 0; err >= 0 && i < listings; i++) {
		err = pm_threads_list(&opening->session->threads, open_for_thread, opening);
		if (err == 0)
			return 0;
	}
	return err;
}

int pm_on_cpus_open(struct pm_session *session, const struct pm_cpus *cpus,
		    each_opened *each, struct pm_diag *diag)
{
	const size_t events = session->events.count, rings = session->rings.count;
	const unsigned int listings = session->plan->opts.rounds;
	struct opening opening = {
		.session = session, .cpus = cpus, .each = each, .diag = diag,
		.failed = { .cpu = -1 },
	};
	/* A broker gives so many events in all, whatever becomes of them. */
	unsigned int attempts = session->plan->via_broker ? 0 : listings;
	int err = 1;

	for (unsigned int i = 0; err > 0 && i <= attempts; i++) {
		pm_on_cpus_undo(session, events, rings);
		err = i < attempts ? open_one_listing(&opening) :
			open_all_listings(&opening, listings);
	}
	if (err < 0)
		return opening.each_failed ? err :
			pm_events_refused(&session->events, opening.failed.spec,
					  opening.failed.cpu, err, diag);
	return err == 0 ? 0 : pm_diag_say(diag, EAGAIN, PM_CAUSE_NONE, "attach: new threads still "
					  "appeared in listing %u", listings);
}

/* ----------------------------------------------------------------------------------- connecting */

/* Samples of one event of one listing need no ids to be told apart. */
static bool needs_ids(const struct pm_session *session)
{
	return session->plan->count > 1 || session->threads.rounds > 1 ||
		session->ids.table != NULL;
}

int pm_on_cpus_connect(struct pm_session *session, const struct pm_cpus *cpus, size_t first,
		       struct pm_diag *diag)
{
	const bool ids = needs_ids(session);
	int err = pm_rings_share(&session->rings, &session->events, cpus, first, diag);

	if (err < 0)
		return err;
	if (ids && pm_ids_index(&session->ids, &session->events) < 0)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "attach: out of memory");
	return pm_events_enable(&session->events, diag);
}
