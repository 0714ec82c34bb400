/* SPDX-License-Identifier: MIT */
/* Waiting for records: poll(2) of the leaders of rings, bounded by a tick. */
#include "wait.h"

#include <poll.h>
#include <stdlib.h>

#define TICK_MS 100		/* rings are looked at that often, wake-up or not */
#define FAST_TICK_MS 20		/* where nobody would wake us */
#define SLOW_TICK_MS 1000	/* where nothing is delivered: CPUs that come are looked for */

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
		pm_pollable_forget(session, polled[i].fd);
		if (owned)
			session->cpus.seen_at = 0;
		else
			session->stats.leaders_gone++;
	}
}

/* Whether something may come that wakes nobody. */
static bool is_timed(const struct pm_session *session)
{
	if (session->operations->drain != NULL || session->follows)
		return true;
	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].fd < 0 && session->rings.list[i].ring.base != NULL)
			return true;
	return false;
}

int pm_wait_tick(const struct pm_session *session)
{
	if (is_timed(session))
		return FAST_TICK_MS;
	return session->rings.count > 0 ? TICK_MS : SLOW_TICK_MS;
}

int pm_wait(struct pm_session *session, int timeout_ms)
{
	int tick = pm_wait_tick(session), ready;
	struct pollfd *polled = malloc((session->rings.count + 1) * sizeof(*polled));
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
