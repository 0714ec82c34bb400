/* SPDX-License-Identifier: MIT */
/*
 * Looking for what the canary has caused. Where events are never enabled, as a filter answers in
 * place of ioctl(2), there is no record; a PMU that does not interrupt gives no sample; and since
 * v6.3 a sample may have the id of another program's event that the same occurrence hit.
 */
#include "canary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "canary_thread.h"
#include "known.h"

/* Whether it is in this very cgroup. One below it would be observed, too; that is passed over. */
static bool is_in_cgroup(int directory)
{
	int fd = openat(directory, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	bool found = false;
	int pid;

	if (file == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && fscanf(file, "%d", &pid) == 1)
		found = pid == getpid();
	(void)fclose(file);
	return found;
}

/* Whether a thread that this one makes shows in all rings. */
static bool is_inherited(const struct pm_session *session)
{
	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].cpu < 0)
			return false;
	for (size_t i = 0; i < session->plan->count; i++) {
		const int tid = session->plan->events[i].spec.tid;

		if (tid == PM_ALL_THREADS || tid == PM_SYSTEM ||
		    session->plan->events[i].around_us)
			return true;
	}
	return false;
}

/* -------------------------------------------------------------------------------------- judging */

static bool is_own_ring(const struct pm_session *session, const struct session_ring *ring)
{
	return ring->cpu < 0 && ring->tid == pm_gettid() && session->proof->canary.tid != 0;
}

/* An event that the canary has caused on this CPU and that gave no sample there; -1: none. */
static int missing_on(const struct pm_session *session, int cpu)
{
	uint32_t sampled = 0;

	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].cpu == cpu)
			sampled |= session->rings.list[i].sampled;
	for (size_t i = 0; cpu >= 0 && i < session->plan->count; i++)
		if (pm_canary_is_everywhere(&session->plan->events[i]) && !(sampled & 1u << i))
			return (int)i;
	return -1;
}

/* What an event gave that was caused and is missing: samples of one hit may share one id. */
static const char *given(const struct canary *canary)
{
	return canary->unnamed ? "gave samples with the id of another program's event" :
		"gave no sample";
}

static int judge(const struct pm_session *session, char *reason, size_t size)
{
	const struct canary *canary = &session->proof->canary;

	for (size_t i = 0; i < session->rings.count; i++) {
		const struct session_ring *ring = &session->rings.list[i];

		if (ring->canary || canary->nameless ||
		    !(canary->other || is_own_ring(session, ring)))
			continue;
		snprintf(reason, size, "all opened, but a deliberate event %s %d gave no record",
			 ring->cpu < 0 ? "of thread" : "on cpu",
			 ring->cpu < 0 ? ring->tid : ring->cpu);
		return -EIO;
	}
	if (canary->forwarded != 0) {
		snprintf(reason, size, "all opened, but PERF_EVENT_IOC_SET_OUTPUT is taken and "
			 "forwards nothing");
		return -EIO;
	}
	for (size_t i = 0; canary->other && i < session->rings.count; i++)
		if (missing_on(session, session->rings.list[i].cpu) >= 0 &&
		    !session->rings.list[i].unvisited) {
			snprintf(reason, size, "all opened, but event %d, caused deliberately on "
				 "cpu %d, %s",
				 missing_on(session, session->rings.list[i].cpu),
				 session->rings.list[i].cpu, given(canary));
			return -EIO;
		}
	for (size_t i = 0; canary->other && i < session->plan->count; i++) {
		if (!pm_canary_can_cause(&session->plan->events[i]) || canary->samples[i] > 0)
			continue;
		snprintf(reason, size, "all opened, but event %zu, caused deliberately, %s",
			 i, given(canary));
		return -EIO;
	}
	return 0;
}

/* The calling thread has a ring for all of its events; those of the others are not waited for. */
static bool has_own_ring(struct pm_session *session)
{
	bool found = false;

	for (size_t i = 0; i < session->rings.count; i++) {
		struct session_ring *ring = &session->rings.list[i];

		if (ring->cpu >= 0)
			return false;
		ring->canary = ring->tid != pm_gettid();
		found |= !ring->canary;
	}
	return found;
}

static int judge_rings(struct pm_session *session, bool patient, char *reason, size_t size)
{
	int err;

	if (!is_inherited(session) || !pm_canary_send(session, false, patient)) {
		/* Nobody inherits: this very thread, if it is observed at all. */
		session->proof->canary.tid = pm_gettid();
		session->proof->canary.other = has_own_ring(session);
		session->proof->canary.nameless = !pm_canary_rename();
		if (session->proof->canary.other)
			pm_canary_cause(session, patient);
	}
	/* A flood of others' records could hide it for a while, not for ever. */
	for (int i = 0; i < 64 && session->calls->drain(session) > 0; i++)
		;
	err = judge(session, reason, size);
	pm_canary_bury(session);
	if (session->proof->canary.tid == pm_gettid())
		session->proof->canary.tid = 0;
	return err;
}

int pm_canary_inherits(struct pm_session *session, bool patient, char *reason, size_t size)
{
	return session->rings.count == 0 ?
		pm_canary_counters(session, is_inherited(session), patient, reason, size) :
		judge_rings(session, patient, reason, size);
}

int pm_canary_self(struct pm_session *session, bool patient, char *reason, size_t size)
{
	int err;

	session->proof->canary.tid = pm_gettid();
	session->proof->canary.other = true;
	pm_canary_cause(session, patient);
	(void)session->calls->drain(session);
	err = judge(session, reason, size);
	session->proof->canary.tid = 0;
	return err;
}

/* It is not done, or has been: nobody is waited for. */
static bool is_left_out(struct pm_session *session)
{
	struct proof *proof = session->proof;
	const unsigned int prove = session->plan->opts.prove;

	proof->shape = prove == PM_PROVE_NEVER ? 0 : pm_known_shape(session);
	proof->how = prove == PM_PROVE_NEVER ? PROVEN_NEVER :
		prove == PM_PROVE_ONCE && pm_known_find(proof->shape, &proof->unvisited) ?
		PROVEN_BEFORE : PROVEN_NOW;
	return proof->how != PROVEN_NOW;
}

/* What the canary did is not the program's: its thread inherits from this one and shows on CPUs. */
static void begin_counts(struct pm_session *session)
{
	struct event_list *events = &session->events;

	for (size_t i = 0; i < events->count; i++) {
		struct session_event *event = &events->list[i];

		if (event->tid < 0 || event->tid == session->self || session->threads.rounds > 1)
			(void)pm_event_begin(events, event);
	}
}

static int prove(struct pm_session *session, char *reason, size_t size)
{
	struct canary *canary = &session->proof->canary;
	int err = 0;

	if (session->operations->prove == NULL)
		return 0;
	*canary = (struct canary){ .tid = 0 };
	if (is_left_out(session))
		return 0;
	for (size_t i = 0; i < session->plan->count; i++)
		session->plan->events[i].around_us =
			session->plan->events[i].spec.tid == PM_CGROUP &&
			is_in_cgroup(session->plan->opts.cgroup);
	/* On a busy machine one may be moved or delayed: only the second failure counts. */
	for (int again = 0; again < 2; again++) {
		memset(canary->samples, 0, sizeof(canary->samples));
		err = session->operations->prove(session, again, reason, size);
		if (err == 0)
			break;
	}
	return err;
}

int pm_canary(struct pm_session *session, char *reason, size_t size)
{
	const int err = prove(session, reason, size);

	if (err == 0)
		begin_counts(session);
	return err;
}

void pm_canary_flush(struct pm_session *session)
{
	if (is_inherited(session))
		(void)pm_canary_send(session, true, true);
	else
		(void)pm_canary_rename();
	pm_canary_bury(session);
}
