/* SPDX-License-Identifier: MIT */
/* The life of a session: attach with the next strategy on silence, poll, run, stop, detach. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "../diagnosis/diag.h"
#include "../strategy/ticks.h"

#define TICK_MS 100		/* rings are looked at that often, wake-up or not */
#define FAST_TICK_MS 20		/* where nobody would wake us */

struct pm_session *pm_session_create(struct pm_plan *plan, const struct pm_listener *listener,
				     void *context)
{
	struct pm_session *session = calloc(1, sizeof(*session));

	if (session == NULL)
		return NULL;
	session->plan = plan;
	if (listener != NULL)
		memcpy(&session->listener, listener, listener->size < sizeof(*listener) ?
		       listener->size : sizeof(*listener));
	session->context = context;
	session->stop_fd = -1;
	session->pid = getpid();
	(void)pthread_mutex_init(&session->lock, NULL);
	(void)pthread_cond_init(&session->out, NULL);
	return session;
}

void pm_session_destroy(struct pm_session *session)
{
	if (session == NULL)
		return;
	(void)pm_session_detach(session);
	/* In a forked child a waiter may have been left behind, who is never seen to leave. */
	if (session->pid == getpid()) {
		(void)pthread_cond_destroy(&session->out);
		(void)pthread_mutex_destroy(&session->lock);
	}
	free(session);
}

/* --------------------------------------------------------------------------------------- attach */

/* Another thread may be about to write to it; in a forked child there is none, and no lock. */
static void set_stop(struct pm_session *session, int fd)
{
	bool here = session->pid == getpid();

	if (here)
		(void)pthread_mutex_lock(&session->lock);
	if (session->stop_fd >= 0)
		close(session->stop_fd);
	session->stop_fd = fd;
	if (here)
		(void)pthread_mutex_unlock(&session->lock);
}

/* What the canary found out is worth more than what the profile said. */
static void record_lie(struct pm_session *session)
{
	const char *proof = pm_strategies[session->plan->chosen].proof;

	if (proof != NULL)
		(void)pm_profile_set(session->plan->profile, &(struct pm_fact){
			.key = proof, .verdict = PM_BROKEN, .rank = PM_RANK_RUNTIME });
}

static int attach_chosen(struct pm_session *session, struct pm_diag *diag)
{
	const struct strategy *strategy = &pm_strategies[session->plan->chosen];
	char reason[REASON_SIZE];
	int err = strategy->attach(session, diag);

	if (err < 0)
		return err;
	session->attached = true;
	if (pm_canary(session, reason, sizeof(reason)) == 0)
		return 0;
	record_lie(session);
	return pm_diag_say(diag, EIO, PM_CAUSE_SILENCE, "%s: %s", strategy->name, reason);
}

static void begin(struct pm_session *session)
{
	memset(&session->stats, 0, sizeof(session->stats));
	memset(&session->canary, 0, sizeof(session->canary));
	memset(session->folded, 0, sizeof(session->folded));
	session->was_full = false;
	session->nofile = 0;
	session->self = pm_gettid();
	pm_format_of(&session->plan->events[0].attr, &session->format);
}

/* The session may have been made before a fork. */
static int take_process(struct pm_session *session)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (session->pid != getpid()) {
		session->pid = getpid();
		(void)pthread_mutex_init(&session->lock, NULL);
		(void)pthread_cond_init(&session->out, NULL);
	}
	set_stop(session, fd);
	return 0;
}

int pm_session_attach(struct pm_session *session, struct pm_diag *diag)
{
	struct pm_diag own = { .size = sizeof(own) };
	int err;

	if (session->attached)
		return -EALREADY;
	err = take_process(session);
	if (err < 0)
		return pm_diag_say(diag, -err, PM_CAUSE_DESCRIPTORS, "eventfd: %s",
				   pm_errno_name(-err));
	for (;;) {
		begin(session);
		err = attach_chosen(session, &own);
		if (err == 0)
			return session->plan->chosen;
		pm_forget_cpus(session);
		pm_attach_undo(session);
		session->attached = false;
		(void)pm_diag_say(diag, own.error, own.cause, "%s", own.text);
		if (pm_plan_next(session->plan, own.text) < 0)
			break;
		pm_plan_negotiate(session->plan);
	}
	set_stop(session, -1);
	return err;
}

/* ----------------------------------------------------------------------------------------- wait */

/* Leaders that can still wake us, and the stop channel first. Returns how many. */
static nfds_t poll_set(const struct pm_session *session, struct pollfd *ret)
{
	nfds_t count = 1;

	ret[0] = (struct pollfd){ .fd = session->stop_fd, .events = POLLIN };
	for (size_t i = 0; i < session->ring_count; i++)
		if (session->rings[i].fd >= 0 && session->rings[i].ring.base != NULL)
			ret[count++] = (struct pollfd){
				.fd = session->rings[i].fd, .events = POLLIN };
	return count;
}

/*
 * The leader's thread has ended: poll says so for ever, while others still write to the ring. So
 * the descriptor is polled no longer, and the ring is read by time. Of an event on a CPU it means
 * that the CPU is away, and whoever looks after CPUs takes the ring out.
 */
static void drop_hung_up(struct pm_session *session, const struct pollfd *polled, nfds_t count)
{
	for (nfds_t i = 1; i < count; i++) {
		if (!(polled[i].revents & (POLLHUP | POLLERR | POLLNVAL)))
			continue;
		for (size_t k = 0; k < session->ring_count; k++)
			if (session->rings[k].fd == polled[i].fd)
				session->rings[k].fd = -1;
		if (session->die_with_cpu)
			session->cpus_seen_at = 0;
		else
			session->stats.leaders_gone++;
	}
}

static bool is_timed(const struct pm_session *session)
{
	if (session->ticks != NULL || session->follows)
		return true;
	for (size_t i = 0; i < session->ring_count; i++)
		if (session->rings[i].fd < 0 && session->rings[i].ring.base != NULL)
			return true;
	return false;
}

static int wait_once(struct pm_session *session, int timeout_ms)
{
	int tick = is_timed(session) ? FAST_TICK_MS : TICK_MS, ready;
	struct pollfd *polled = malloc((session->ring_count + 1) * sizeof(*polled));
	nfds_t count;
	bool stop;

	if (polled == NULL)
		return -ENOMEM;
	if (timeout_ms >= 0 && timeout_ms < tick)
		tick = timeout_ms;
	count = poll_set(session, polled);
	ready = poll(polled, count, tick);
	stop = ready > 0 && polled[0].revents != 0;
	if (ready > 0)
		drop_hung_up(session, polled, count);
	free(polled);
	return stop ? -ECANCELED : tick;
}

static int check(const struct pm_session *session)
{
	if (!session->attached)
		return -ENOTCONN;
	return session->pid == getpid() ? 0 : -ECHILD;
}

static int take_stop(struct pm_session *session)
{
	uint64_t count;

	if (read(session->stop_fd, &count, sizeof(count)) != sizeof(count))
		return 0;
	return -ECANCELED;
}

int pm_session_poll(struct pm_session *session, int timeout_ms)
{
	int err = check(session), count, waited = 0;

	if (err < 0)
		return err;
	/* Where there is always something to deliver, nobody would wait and see who has gone. */
	if (session->follows && session->ticks == NULL)
		(void)wait_once(session, 0);
	for (;;) {
		if (session->ticks != NULL)
			session->ticks->follow(session);
		count = pm_drain(session);
		pm_follow_threads(session);
		pm_follow_cpus(session, false);
		if (take_stop(session) < 0)
			return -ECANCELED;
		if (count > 0 || (timeout_ms >= 0 && waited >= timeout_ms))
			return count;
		err = wait_once(session, timeout_ms < 0 ? -1 : timeout_ms - waited);
		if (err < 0 && err != -ECANCELED)
			return err;
		/* An early wake-up shortens the rest a little; the caller comes back anyway. */
		waited += err > 0 ? err : 1;
	}
}

/* --------------------------------------------------------------------------------- run and stop */

int pm_session_run(struct pm_session *session)
{
	int err = check(session);

	if (err < 0)
		return err;
	(void)pthread_mutex_lock(&session->lock);
	session->running = true;
	session->runner = pthread_self();
	(void)pthread_mutex_unlock(&session->lock);
	do
		err = pm_session_poll(session, -1);
	while (err >= 0);
	(void)pm_drain(session);
	(void)pthread_mutex_lock(&session->lock);
	session->running = false;
	(void)pthread_cond_broadcast(&session->out);
	(void)pthread_mutex_unlock(&session->lock);
	return err == -ECANCELED ? 0 : err;
}

int pm_session_stop(struct pm_session *session)
{
	const uint64_t one = 1;

	if (session->pid != getpid())
		return 0;
	(void)pthread_mutex_lock(&session->lock);
	/* The channel keeps the word until somebody polls, so a stop cannot come too early. */
	if (session->stop_fd >= 0)
		(void)!write(session->stop_fd, &one, sizeof(one));
	while (session->running && !pthread_equal(session->runner, pthread_self()))
		(void)pthread_cond_wait(&session->out, &session->lock);
	(void)pthread_mutex_unlock(&session->lock);
	return 0;
}

/* ------------------------------------------------------------------------------ read and detach */

static int add_value(const struct pm_session *session, const struct session_event *event,
		     struct pm_value *sum)
{
	struct pm_counts counts;
	int err;

	if (event->fd < 0)
		return 0;
	err = pm_read_counts(event->fd, session->plan->events[event->spec].attr.read_format,
			     &counts);
	if (err < 0)
		return err;
	sum->value += counts.member[0].value;
	sum->enabled += counts.time_enabled;
	sum->running += counts.time_running;
	return 0;
}

/* Threads of a later listing have events of their own and may have inherited others beside. */
static bool counts_twice(const struct pm_session *session)
{
	bool later = session->threads.rounds > 1;

	for (size_t i = 0; i < session->cpu_count; i++)
		later |= session->cpus[i].threads.rounds > 1;
	/* Counters alone were opened until there was none. */
	return later && session->ring_count > 0;
}

int pm_session_read(struct pm_session *session, struct pm_value *ret, size_t count)
{
	struct pm_value values[PLAN_EVENTS_MAX];
	int err = check(session);

	if (err == 0 && !pm_plan_sums(session->plan))
		err = -ENOTSUP;
	if (err < 0)
		return err;
	pm_follow_cpus(session, false);
	if (counts_twice(session))
		return -ENOTSUP;
	if (count > session->plan->count)
		count = session->plan->count;
	memcpy(values, session->folded, sizeof(values));
	for (size_t i = 0; i < session->event_count; i++) {
		err = add_value(session, &session->events[i],
				&values[session->events[i].spec]);
		if (err < 0)
			return err;
	}
	memcpy(ret, values, count * sizeof(*ret));
	return (int)count;
}

int pm_session_stats(const struct pm_session *session, struct pm_stats *ret)
{
	struct pm_stats stats = session->stats;

	stats.size = ret->size;
	memcpy(ret, &stats, ret->size < sizeof(stats) ? ret->size : sizeof(stats));
	return 0;
}

/*
 * All that happened before lies within one lap; closing is what ends it. A loss that no record has
 * told of yet comes out with the next record, for which there is room only after a lap.
 */
static void take_leave(struct pm_session *session)
{
	pm_follow_cpus(session, true);
	(void)pm_drain(session);
	if (!session->was_full || session->ticks != NULL)
		return;
	pm_canary_flush(session);
	(void)pm_drain(session);
	for (size_t i = 0; i < session->event_count; i++)
		pm_attach_fold(session, &session->events[i]);
}

int pm_session_detach(struct pm_session *session)
{
	if (!session->attached)
		return -ENOTCONN;
	if (session->pid == getpid())
		take_leave(session);
	pm_forget_cpus(session);
	pm_attach_undo(session);
	set_stop(session, -1);
	session->attached = false;
	return 0;
}
