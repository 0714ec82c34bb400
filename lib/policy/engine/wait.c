/* SPDX-License-Identifier: MIT */
/* Waiting for records: poll(2) of the leaders of rings, bounded by a tick. */
#include "wait.h"

#include <poll.h>
#include <stdlib.h>

#include "../spec/now.h"
#include "late_cpus.h"

#define TICK_MS 100		/* rings are looked at that often, wake-up or not */
#define FAST_TICK_MS 20		/* where nobody would wake us */
#define QUIET_TICK_MS 250	/* either, while nothing happens */
#define SLOW_TICK_MS 1000	/* where nobody has to look: CPUs that come are looked for */
#define FOLLOW_NS 50000000	/* between two listings while nothing tells of a new thread */
#define RING_BYTES_A_MS 1024	/* that may come when it begins to, where nobody would wake us */

/* Leaders that can still wake us, and the stop channel first. Returns how many. */
static nfds_t poll_set(const struct pm_session *session, struct pollfd *ret)
{
	nfds_t count = 1;

	ret[0] = (struct pollfd){ .fd = session->stop.fd, .events = POLLIN };
	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].fd >= 0 && session->rings.list[i].ring.base != NULL)
			ret[count++] = (struct pollfd){
				.fd = session->rings.list[i].fd, .events = POLLIN };
	return count;
}

/*
 * The leader's thread has ended: poll(2) says so for ever, while others still write to the ring. So
 * the descriptor is polled no longer, and the ring is read by time. An event that is of a CPU hangs
 * up when the CPU is away; then late_cpus.c takes the ring out.
 */
static void drop_hung_up(struct pm_session *session, const struct pollfd *polled, nfds_t count)
{
	const bool owned = session->strategy->able & OWNED_BY_CPU;

	for (nfds_t i = 1; i < count; i++) {
		if (!(polled[i].revents & (POLLHUP | POLLERR | POLLNVAL)))
			continue;
		for (size_t k = 0; k < session->rings.count; k++)
			if (session->rings.list[k].fd == polled[i].fd)
				session->rings.list[k].fd = -1;
		pm_pollable_forget(&session->pollable, polled[i].fd);
		if (owned)
			session->cpus.seen_at = 0;
		else
			session->stats.leaders_gone++;
	}
}

void pm_follow_begin(struct pm_session *session, bool follows)
{
	session->follows = follows;
	session->followed_at = pm_now();
}

bool pm_follow_is_due(struct pm_session *session)
{
	const uint64_t now = pm_now(), before = session->followed_at;

	/* A clock that stands still tells nothing: then each time. */
	if (!session->follows || (before != 0 && now != before && now - before < FOLLOW_NS))
		return false;
	session->followed_at = now;
	return true;
}

bool pm_wait_is_timed(const struct pm_session *session)
{
	if (session->operations->drain != NULL || session->follows)
		return true;
	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].fd < 0 && session->rings.list[i].ring.base != NULL)
			return true;
	return false;
}

/* How long a ring without a descriptor may be left alone while nothing happens. */
static int quiet_tick(const struct pm_session *session)
{
	size_t tick = QUIET_TICK_MS;

	if (session->operations->quiet_ms != 0)
		tick = session->operations->quiet_ms;
	for (size_t i = 0; i < session->rings.count; i++) {
		const struct session_ring *ring = &session->rings.list[i];

		if (ring->fd < 0 && ring->ring.base != NULL &&
		    ring->ring.data_size / RING_BYTES_A_MS < tick)
			tick = ring->ring.data_size / RING_BYTES_A_MS;
	}
	return tick < FAST_TICK_MS ? FAST_TICK_MS : (int)tick;
}

/* Each sample wakes us, as has been seen, and nothing else is asked for. */
static bool is_told_of_all(const struct pm_session *session)
{
	return session->quiet.told && session->plan->opts.wakeup == 1 &&
		session->listener.task == NULL && session->listener.other == NULL;
}

int pm_wait_tick(const struct pm_session *session)
{
	const bool timed = pm_wait_is_timed(session);

	if (!timed && (session->rings.count == 0 || is_told_of_all(session)))
		return pm_late_cpus_may_come(session) ? SLOW_TICK_MS : -1;
	if (pm_quiet_is(session))
		return quiet_tick(session);
	return timed ? FAST_TICK_MS : TICK_MS;
}

int pm_wait(struct pm_session *session, int timeout_ms)
{
	int tick = pm_wait_tick(session), ready;
	struct pollfd *polled = malloc((session->rings.count + 1) * sizeof(*polled));
	nfds_t count;
	bool stop;

	if (polled == NULL)
		return -ENOMEM;
	if (timeout_ms >= 0 && (tick < 0 || timeout_ms < tick))
		tick = timeout_ms;
	count = poll_set(session, polled);
	ready = poll(polled, count, tick);
	stop = ready > 0 && polled[0].revents != 0;
	if (ready > 0)
		drop_hung_up(session, polled, count);
	for (nfds_t i = 1; ready > 0 && i < count; i++)
		session->quiet.told |= polled[i].revents == POLLIN;
	free(polled);
	if (stop)
		return -ECANCELED;
	return tick < 0 ? 0 : tick;
}
