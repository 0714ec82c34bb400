/* SPDX-License-Identifier: MIT */
/*
 * Strategy process_timer, the last resort: setitimer(2) of the whole process's CPU time, where
 * POSIX timers are refused as well (by RLIMIT_SIGPENDING or a filter). The kernel sends the signal
 * to a thread that runs, mostly the one that used the time. No thread needs to be found.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "../diagnosis/diag.h"
#include "ticks.h"

#define PERIOD_LEAST 1000000	/* ns */

struct process_timer {
	struct ticks ticks;
	uint64_t period;
};

/* In the handler. A kill(2) by somebody is no tick; the kernel says SI_KERNEL. */
static bool accept_tick(struct ticks *ticks, const siginfo_t *info, struct tick *ret)
{
	(void)ticks;
	(void)ret;
	return info->si_code > 0;
}

static bool describe(struct pm_session *session, const struct tick *tick, struct pm_observed *ret)
{
	ret->period = tick->count * ((struct process_timer *)session->ticks)->period;
	return true;
}

static void follow(struct pm_session *session)
{
	(void)session;
}

static void undo(struct pm_session *session)
{
	const struct itimerval off = { { 0, 0 }, { 0, 0 } };

	/* A forked child has no copy of it, and may have set its own. */
	if (session->pid == getpid())
		(void)setitimer(ITIMER_PROF, &off, NULL);
	pm_ticks_remove(session->ticks);
	free(session->ticks);
	session->ticks = NULL;
}

static struct process_timer *make(const struct pm_event_spec *spec)
{
	struct process_timer *timer = pm_ticks_create(sizeof(*timer));

	if (timer == NULL)
		return NULL;
	timer->period = spec->frequency ? 1000000000 / spec->frequency : spec->period;
	if (timer->period < PERIOD_LEAST)
		timer->period = PERIOD_LEAST;
	timer->ticks.accept = accept_tick;
	timer->ticks.describe = describe;
	timer->ticks.follow = follow;
	timer->ticks.undo = undo;
	return timer;
}

/* One that runs already belongs to somebody else. */
static int start(uint64_t period)
{
	const struct timeval each = {
		.tv_sec = (time_t)(period / 1000000000),
		.tv_usec = (suseconds_t)(period % 1000000000 / 1000),
	};
	const struct itimerval timer = { each, each };
	struct itimerval before;

	if (getitimer(ITIMER_PROF, &before) != 0)
		return -errno;
	if (before.it_value.tv_sec != 0 || before.it_value.tv_usec != 0)
		return -EBUSY;
	return setitimer(ITIMER_PROF, &timer, NULL) ? -errno : 0;
}

int pm_attach_process_timer(struct pm_session *session, struct pm_diag *diag)
{
	struct process_timer *timer = make(&session->plan->events[0].spec);
	int err = timer ? pm_ticks_install(&timer->ticks, SIGPROF) : -ENOMEM;

	if (err < 0) {
		free(timer);
	} else {
		session->ticks = &timer->ticks;
		err = start(timer->period);
		/* Somebody else's must not be switched off. */
		if (err == -EBUSY) {
			pm_ticks_remove(&timer->ticks);
			session->ticks = NULL;
			free(timer);
		}
	}
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "process_timer: %s",
				     err == -EBUSY ? "SIGPROF or ITIMER_PROF is already in use in "
				     "this process" : pm_errno_name(-err)) : 0;
}
