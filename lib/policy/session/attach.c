/* SPDX-License-Identifier: MIT */
/* The life of a session: attach, with the next strategy where one is silent, and detach. */
#include <stdlib.h>
#include <string.h>

#include "../diagnosis/diag.h"
#include "../engine/late_cpus.h"
#include "../plan/choose.h"
#include "../profile/profile.h"
#include "../proof/canary.h"
#include "drain.h"

static const struct engine_calls calls;

struct pm_session *pm_session_create(struct pm_plan *plan, const struct pm_listener *listener,
				     void *context)
{
	struct pm_session *session = calloc(1, sizeof(*session));

	if (session == NULL)
		return NULL;
	session->proof = calloc(1, sizeof(*session->proof));
	if (session->proof == NULL) {
		free(session);
		return NULL;
	}
	session->calls = &calls;
	session->plan = plan;
	session->events.plan = plan;
	session->rings.pages = &plan->ring_pages;
	if (listener != NULL)
		memcpy(&session->listener, listener, listener->size < sizeof(*listener) ?
		       listener->size : sizeof(*listener));
	session->context = context;
	session->pid = getpid();
	pm_stop_init(&session->stop);
	return session;
}

void pm_session_destroy(struct pm_session *session)
{
	if (session == NULL)
		return;
	(void)pm_session_detach(session);
	pm_stop_destroy(&session->stop);
	pm_plan_destroy(session->own_plan);
	free(session->proof);
	free(session);
}

/* --------------------------------------------------------------------------------------- attach */

static void begin(struct pm_session *session)
{
	memset(&session->stats, 0, sizeof(session->stats));
	memset(&session->sums, 0, sizeof(session->sums));
	session->was_full = session->follows = false;
	session->quiet = (struct quiet){ .active_at = 0 };
	session->events.nofile = 0;
	session->events.output = -1;
	session->pid = getpid();
	session->self = pm_gettid();
	session->strategy = session->plan->chosen->strategy;
	session->operations = session->strategy->operations;
	pm_proof_reset(session);
	pm_format_of(&session->plan->events[0].attr, &session->format);
	session->mixed = false;
	for (size_t i = 1; i < session->plan->count; i++)
		session->mixed |= session->plan->events[i].sampled &&
			session->plan->events[i].attr.sample_type != session->format.sample_type;
}

static int attach_chosen(struct pm_session *session, struct pm_diag *diag)
{
	char reason[REASON_SIZE];
	int err;

	begin(session);
	err = session->operations->attach(session, diag);
	if (err < 0)
		return err;
	session->attached = true;
	err = pm_proof_attached(session, reason, sizeof(reason));
	if (err == -ENOMEM)
		return pm_diag_say(diag, ENOMEM, PM_CAUSE_NONE, "attach: out of memory");
	if (err == 0)
		return 0;
	/* What the canary found out is worth more than what the profile said. */
	if (session->strategy->proof != NULL)
		(void)pm_profile_note(session->plan->profile, &(struct pm_fact){
			.size = sizeof(struct pm_fact), .key = session->strategy->proof,
			.verdict = PM_BROKEN, .rank = PM_RANK_RUNTIME });
	return pm_diag_say(diag, EIO, PM_CAUSE_SILENCE, "%s: %s",
			   session->strategy->name, reason);
}

/* Unmaps and closes everything that is open. Statistics stay. */
static void undo(struct pm_session *session)
{
	pm_proof_free(session);
	if (session->operations->undo != NULL)
		session->operations->undo(session);
	pm_rings_free(&session->rings, session->pid != getpid());
	pm_events_free(&session->events);
	pm_ids_free(&session->ids);
	pm_late_cpus_free(&session->cpus);
	pm_threads_free(&session->threads);
	pm_shares_free(&session->shares);
	pm_pollable_close(&session->pollable);
	session->attached = session->follows = false;
}

static int attach_any(struct pm_session *session, struct pm_diag *diag)
{
	struct pm_diag own = { .size = sizeof(own) };

	session->events.by_flag = true;
	for (;;) {
		int err = attach_chosen(session, &own);
		bool misrouted = session->proof->canary.forwarded != 0;

		if (err == 0)
			return (int)pm_plan_strategy(session->plan);
		undo(session);
		/* A kernel may ignore the flag, and know the ioctl(2). */
		if (session->events.by_flag && misrouted) {
			session->events.by_flag = false;
			continue;
		}
		(void)pm_diag_say(diag, own.error, own.cause, "%s", own.text);
		if (pm_plan_next(session->plan, own.text) < 0)
			return err;
	}
}

int pm_session_attach(struct pm_session *session, struct pm_diag *diag)
{
	int err;

	if (session->attached)
		return -EALREADY;
	/* The session may have been made before a fork. */
	err = pm_stop_open(&session->stop);
	if (err < 0)
		return pm_diag_say(diag, -err, PM_CAUSE_DESCRIPTORS, "eventfd: %s",
				   pm_errno_name(-err));
	err = attach_any(session, diag);
	if (err < 0)
		pm_stop_close(&session->stop);
	return err;
}

static int go_on(struct pm_session *session, const char *why)
{
	const struct pollable pollable = session->pollable;
	struct pm_stats before;
	int err;

	(void)pm_drain(session);
	before = session->stats;
	/* An event loop may hold it. */
	session->pollable = (struct pollable){ 0, 0 };
	undo(session);
	err = pm_plan_next(session->plan, why);
	if (err == 0)
		err = attach_any(session, NULL);
	session->stats.records += before.records;
	session->stats.samples += before.samples;
	session->stats.dropped += before.dropped;
	session->stats.late_threads += before.late_threads;
	session->pollable = pollable;
	if (err < 0)
		pm_pollable_close(&session->pollable);
	else
		pm_pollable_renew(session);
	return err < 0 ? err : 0;
}

static const struct engine_calls calls = {
	.drain = pm_drain, .go_on = go_on,
};

/* --------------------------------------------------------------------------------------- detach */

/*
 * All that happened before lies within one lap; closing is what ends it. A loss that no record has
 * told of yet comes out with the next record, for which there is room only after a lap.
 */
static void take_leave(struct pm_session *session)
{
	pm_late_cpus_follow(session, true);
	pm_proof_leave(session);
	if (!session->was_full)
		return;
	pm_canary_flush(session);
	(void)pm_drain(session);
	for (size_t i = 0; i < session->events.count; i++)
		pm_sums_fold(&session->sums, &session->events, &session->events.list[i]);
}

int pm_session_detach(struct pm_session *session)
{
	if (!session->attached)
		return -ENOTCONN;
	if (session->pid == getpid()) {
		take_leave(session);
	}
	undo(session);
	pm_stop_close(&session->stop);
	return 0;
}
