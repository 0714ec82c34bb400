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
#include <time.h>
#include <unistd.h>

#include "../diagnosis/diag.h"
#include "../plan/weigh.h"
#include "cpu_timer.h"
#include "sigring.h"

struct process_timer {
	struct sigring ring;
	uint64_t seen;			/* ns of the process's CPU time at the last tick; atomic */
	struct timeval each;		/* its interval, as the kernel tells it */
};

/*
 * In the handler. A kill(2) by somebody is no tick; the kernel says SI_KERNEL. The timer fires at
 * the scheduler's tick only, once for all threads together, and ticks that come close together are
 * one signal: what a signal stands for is told by the process's CPU clock alone.
 */
static bool accept_tick(struct sigring *ring, const siginfo_t *info, struct sigring_sample *ret)
{
	struct process_timer *timer = (struct process_timer *)ring;
	uint64_t now = 0, seen = __atomic_load_n(&timer->seen, __ATOMIC_RELAXED);

	if (info->si_code <= 0 || pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &now) < 0)
		return false;
	while (now > seen && !__atomic_compare_exchange_n(&timer->seen, &seen, now, true,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	/* 0: a tick of another thread at the same time has told of all of it. */
	ret->weight = now > seen ? now - seen : 0;
	return ret->weight > 0;
}

static bool describe(struct pm_session *session, const struct sigring_sample *sample,
		     struct pm_observed *ret)
{
	(void)session;
	ret->period = sample->weight;
	return true;
}

static const struct itimerval off = { { 0, 0 }, { 0, 0 } };

/*
 * A timer that runs already belongs to somebody else. The odd number of us tells this one from
 * those; it makes no other difference, because the timer goes by the scheduler's tick.
 */
static int start(struct process_timer *timer, uint64_t period)
{
	const struct timeval each = {
		.tv_sec = (time_t)(period / 1000000000),
		.tv_usec = (suseconds_t)(period % 1000000000 / 1000) | 1,
	};
	const struct itimerval wanted = { each, each };
	struct itimerval now;

	if (getitimer(ITIMER_PROF, &now) != 0)
		return -errno;
	if (now.it_value.tv_sec != 0 || now.it_value.tv_usec != 0)
		return -EBUSY;
	if (setitimer(ITIMER_PROF, &wanted, NULL) != 0)
		return -errno;
	if (getitimer(ITIMER_PROF, &now) != 0) {
		const int err = -errno;

		/* Nobody can tell later that it is ours; where it runs on, see undo(). */
		if (setitimer(ITIMER_PROF, &off, NULL) != 0)
			timer->ring.before.sa_handler = SIG_IGN;
		return err;
	}
	timer->each = now.it_interval;
	/* Taken, and not set. */
	return now.it_interval.tv_sec != 0 || now.it_interval.tv_usec != 0 ? 0 : -EIO;
}

/*
 * Switches the timer off if it is the one that was started: a program may have set its own since.
 * False: that was refused, and it may run on.
 */
static bool stop(const struct process_timer *timer)
{
	struct itimerval now;

	if (getitimer(ITIMER_PROF, &now) != 0)
		return false;
	return now.it_interval.tv_sec != timer->each.tv_sec ||
		now.it_interval.tv_usec != timer->each.tv_usec ||
		setitimer(ITIMER_PROF, &off, NULL) == 0;
}

static int attach(struct pm_session *session, struct pm_diag *diag)
{
	struct process_timer *timer = pm_sigring_create(sizeof(*timer), session->operations);
	int err = timer ? pm_sigring_install(&timer->ring, SIGPROF) : -ENOMEM;

	if (err < 0) {
		free(timer);
		return pm_sigring_refused(diag, "process_timer", "SIGPROF or ITIMER_PROF: already "
					  "in use in this process", err);
	}
	session->own = timer;
	timer->ring.chains = session->plan->events[0].spec.want & PM_WANT_CALLCHAIN;
	(void)pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &timer->seen);
	err = start(timer, pm_cpu_timer_period(&session->plan->events[0].spec));
	/* Somebody else's must not be switched off. */
	if (err == -EBUSY) {
		pm_sigring_remove(&timer->ring);
		session->own = NULL;
		free(timer);
	}
	if (err == -EIO)
		return pm_diag_say(diag, EIO, PM_CAUSE_SILENCE, "process_timer: setitimer(2) is "
				   "taken, and ITIMER_PROF does not run");
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "process_timer: %s: %s",
				     err == -EBUSY ? "SIGPROF or ITIMER_PROF" :
				     "setitimer or getitimer",
				     err == -EBUSY ? "already in use in this process" :
				     pm_errno_name(-err)) : 0;
}

static void undo(struct pm_session *session)
{
	struct process_timer *timer = session->own;

	if (timer == NULL)
		return;
	/*
	 * A forked child has no copy of it, and may have set its own. Where it runs on, its next
	 * signal would end the process.
	 */
	if (session->pid == getpid() && !stop(timer))
		timer->ring.before.sa_handler = SIG_IGN;
	pm_sigring_remove(&timer->ring);
	session->own = NULL;
	free(timer);
}

static const struct operations operations = {
	.attach = attach,
	.drain = pm_sigring_drain,
	.undo = undo,
	.accept = accept_tick,
	.describe = describe,
};

static int fits(const struct pm_plan *plan, struct candidate *candidate)
{
	if (plan->events[0].spec.tid != PM_ALL_THREADS)
		return pm_rule_out(candidate, EINVAL, "it is of all threads together");
	return pm_cpu_timer_fits(plan, candidate);
}

static const struct need needs_nothing[] = { { NULL, false } };

const struct strategy pm_strategy_process_timer = {
	.name = "process_timer",
	.what = "ITIMER_PROF, one for the process, without perf",
	.able = FOR_SELF | CAN_SAMPLE,
	.needs = needs_nothing,
	.fits = fits,
	.cost = pm_cpu_timer_cost,
	.operations = &operations,
};
