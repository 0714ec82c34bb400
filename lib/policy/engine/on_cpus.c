/* SPDX-License-Identifier: MIT */
/*
 * Threads are created while a session attaches, and may have inherited the events that their
 * creators had by then. So opening starts over until none was created meanwhile. After the last
 * attempt a thread that appears in a later listing gets events of its own beside the inherited
 * ones; threads.h tells the two apart by their ids, but two software events that one occurrence
 * hits have the same id in their samples (seen on 6.18).
 */
#include "on_cpus.h"

#include <stdlib.h>

#include "../diagnosis/diag.h"
#include "../plan/hybrid.h"
#include "../plan/limits.h"

struct opening {
	struct pm_session *session;
	const struct pm_cpus *cpus;
	each_opened *each;
	bool plain;			/* nothing is inherited */
	bool share;			/* one ring a CPU, mapped as soon as there is an event */
	size_t first_ring;
	struct pm_diag *diag;		/* filled in already where `each` failed */
	struct session_event failed;	/* what could not be opened */
	bool each_failed;
	bool alone;			/* there was no other thread after the events were opened */
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

/* The ring that an event of this CPU shares, NULL: there is none yet. */
static const struct session_ring *shared_ring(const struct opening *opening, size_t cpu)
{
	const struct ring_set *rings = &opening->session->rings;
	const size_t at = opening->first_ring + cpu;

	return opening->share && at < rings->count ? &rings->list[at] : NULL;
}

/*
 * The first event of a CPU gets the ring and leads it. That is the main thread's, which is listed
 * first, unless it has ended: wake-ups stop when the leader's thread ends.
 */
static int share(struct opening *opening, size_t cpu, const struct session_event *event)
{
	struct ring_set *rings = &opening->session->rings;
	const struct session_ring *ring = shared_ring(opening, cpu);

	if (ring == NULL)
		return pm_rings_map(rings, event, *rings->pages);
	return event->forwarded ? 0 : pm_ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT,
					       (unsigned long)ring->fd);
}

/* What becomes of an event that was opened. */
static int take_opened(struct opening *opening, size_t cpu, int at)
{
	struct session_event *event = &opening->session->events.list[at];

	if (opening->share)
		return share(opening, cpu, event);
	return opening->each ? opening->each(opening->session, event, opening->diag) : 0;
}

static int open_on_each(struct opening *opening, uint32_t spec, pid_t tid)
{
	struct pm_session *session = opening->session;
	struct session_event wanted = {
		.spec = spec, .tid = tid, .round = session->threads.rounds,
	};
	const bool inherit = !opening->plain &&
		session->plan->events[spec].spec.tid == PM_ALL_THREADS;

	for (size_t i = 0; i < opening->cpus->count; i++) {
		const struct session_ring *ring = shared_ring(opening, i);
		int at;

		wanted.cpu = opening->cpus->list[i];
		if (!pm_plan_is_on(&session->plan->events[spec], wanted.cpu))
			continue;
		session->events.output = ring != NULL && session->events.by_flag ? ring->fd : -1;
		at = pm_events_open(&session->events, &wanted, inherit);
		session->events.output = -1;
		if (at < 0) {
			opening->failed = wanted;
			return at;
		}
		at = take_opened(opening, i, at);
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
	opening->alone = opening->alone && pm_thread_count() == 1;
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

/* Returns 0 when no thread was created meanwhile, how many otherwise. */
static int open_one_listing(struct opening *opening)
{
	struct pm_session *session = opening->session;
	/* Where that has changed, one more listing does no harm. */
	const bool alone = session->plan->now.threads == 1;
	struct thread_creation creation = { .fd = -1 };
	bool none;
	int err = open_single(opening);

	if (err < 0 || !pm_plan_watches_all(session->plan))
		return err;
	opening->alone = alone;
	/* A look at the number of threads takes less than two at the last number. */
	if (!alone)
		pm_thread_creation_begin(&creation);
	err = pm_threads_list(&session->threads, open_for_thread, opening);
	none = alone ? opening->alone && session->threads.present == 1 :
		pm_thread_creation_none(&creation);
	if (none && err >= 0)
		return 0;
	return err < 0 ? err : pm_threads_list(&session->threads, NULL, NULL);
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

static int open_again_and_again(struct opening *opening)
{
	struct pm_session *session = opening->session;
	const size_t events = session->events.count, rings = session->rings.count;
	const unsigned int listings = session->plan->opts.rounds;
	/* A broker gives so many events in all, whatever becomes of them. */
	unsigned int attempts = session->plan->via_broker ? 0 : listings;
	int err = 1;

	for (unsigned int i = 0; err > 0 && i <= attempts; i++) {
		pm_on_cpus_undo(session, events, rings);
		err = i < attempts ? open_one_listing(opening) :
			open_all_listings(opening, listings);
	}
	return err;
}

static int refused(const struct opening *opening, int err, struct pm_diag *diag)
{
	return opening->each_failed ? err :
		pm_events_refused(&opening->session->events, opening->failed.spec,
				  opening->failed.cpu, err, diag);
}

int pm_on_cpus_count(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag)
{
	const size_t events = session->events.count, rings = session->rings.count;
	struct opening opening = {
		.session = session, .cpus = cpus, .failed = { .cpu = -1 },
	};
	int fresh = 1;

	for (unsigned int i = 0; fresh > 0 && i < session->plan->opts.rounds; i++) {
		pm_on_cpus_undo(session, events, rings);
		fresh = open_one_listing(&opening);
	}
	if (fresh < 0)
		return refused(&opening, fresh, diag);
	session->stats.late_threads += (uint64_t)fresh;
	return pm_events_enable(&session->events, diag);
}

int pm_on_cpus_open(struct pm_session *session, const struct pm_cpus *cpus,
		    each_opened *each, struct pm_diag *diag)
{
	const unsigned int listings = session->plan->opts.rounds;
	struct opening opening = {
		.session = session, .cpus = cpus, .each = each, .diag = diag,
		.failed = { .cpu = -1 },
	};
	int err = open_again_and_again(&opening);

	if (err < 0)
		return refused(&opening, err, diag);
	return err == 0 ? 0 : pm_diag_say(diag, EAGAIN, PM_CAUSE_NONE, "attach: new threads still "
					  "appeared in listing %u", listings);
}

static struct opening plainly(struct pm_session *session, each_opened *each, struct pm_diag *diag)
{
	static int any = -1;
	static const struct pm_cpus on_any = { &any, 1 };

	return (struct opening){
		.session = session, .cpus = &on_any, .each = each, .plain = true, .diag = diag,
		.failed = { .cpu = -1 },
	};
}

int pm_on_cpus_open_plain(struct pm_session *session, each_opened *each, struct pm_diag *diag)
{
	struct opening opening = plainly(session, each, diag);
	int err = open_all_listings(&opening, 1);

	return err < 0 ? refused(&opening, err, diag) : 0;
}

int pm_on_cpus_open_late(struct pm_session *session, pid_t tid, each_opened *each)
{
	struct opening opening = plainly(session, each, NULL);

	return open_for_thread(tid, &opening);
}

/* ----------------------------------------------------------------------------------- connecting */

/* Samples of one event of one listing need no ids to be told apart. */
static bool needs_ids(const struct pm_session *session)
{
	return session->plan->count > 1 || session->threads.rounds > 1 ||
		session->ids.table != NULL;
}

static int finish(struct pm_session *session, struct pm_diag *diag)
{
	if (needs_ids(session) && pm_ids_index(&session->ids, &session->events) < 0)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "attach: out of memory");
	return pm_events_enable(&session->events, diag);
}

int pm_on_cpus_connect(struct pm_session *session, const struct pm_cpus *cpus, size_t first,
		       struct pm_diag *diag)
{
	int err = pm_rings_share(&session->rings, &session->events, cpus, first, diag);

	return err < 0 ? err : finish(session, diag);
}

static bool may_share(const struct pm_session *session)
{
	const struct pm_plan *plan = session->plan;

	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.tid != PM_ALL_THREADS || plan->events[i].pmu[0])
			return false;
	return !plan->via_broker && session->events.enabled;
}

int pm_on_cpus_open_shared(struct pm_session *session, const struct pm_cpus *cpus,
			   struct pm_diag *diag)
{
	const size_t events = session->events.count, rings = session->rings.count;
	struct opening opening = {
		.session = session, .cpus = cpus, .share = true, .first_ring = rings,
	};
	int err = may_share(session) ? open_again_and_again(&opening) : -ENOTSUP;

	if (err == 0)
		return finish(session, diag);
	/* Then one thing after the other, which also says what is wrong. */
	pm_on_cpus_undo(session, events, rings);
	err = pm_on_cpus_open(session, cpus, NULL, diag);
	return err < 0 ? err : pm_on_cpus_connect(session, cpus, events, diag);
}
