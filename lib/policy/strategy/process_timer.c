/* SPDX-License-Identifier: MIT */
/*
 * Strategy process_timer, the last resort: one timer of the whole process's CPU time, where timers
 * of each thread are refused (by RLIMIT_SIGPENDING, say). The kernel sends the signal to a thread
 * that runs, mostly the one that used the time. No thread needs to be found.
 *
 * A POSIX timer goes with exec(2). But kernels before e797203fb3ba (v6.4) send its signal to the
 * first thread, whichever used the time: that is tried. ITIMER_PROF always finds who runs; it
 * outlives exec(2), where its signal ends the new program, so only who allows it gets it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../diagnosis/diag.h"
#include "../spec/now.h"
#include "cpu_timer.h"
#include "signal_ring.h"

struct process_timer {
	struct signal_ring ring;
	uint64_t seen;			/* ns of the process's CPU time at the last tick; atomic */
	bool posix;			/* by timer_create(2) */
	timer_t id;
	bool trying;			/* atomic: what comes is no sample, and comes to: */
	pid_t came_to;			/* a thread; atomic */
	struct timeval each;		/* else its interval, as the kernel tells it */
};

static bool is_tick(const struct process_timer *timer, const siginfo_t *info)
{
	return timer->posix ? info->si_code == SI_TIMER && info->si_value.sival_ptr == timer :
		info->si_code > 0;	/* SI_KERNEL: a kill(2) by somebody is no tick */
}

/*
 * In the handler. The timer fires at the scheduler's tick only, once for all threads together, and
 * ticks that come close together are one signal: what a signal stands for is told by the process's
 * CPU clock alone.
 */
static bool accept_tick(struct signal_ring *ring, const siginfo_t *info, struct signal_sample *ret)
{
	struct process_timer *timer = (struct process_timer *)ring;
	uint64_t now = 0, seen = __atomic_load_n(&timer->seen, __ATOMIC_RELAXED);

	if (!is_tick(timer, info))
		return false;
	if (__atomic_load_n(&timer->trying, __ATOMIC_RELAXED)) {
		__atomic_store_n(&timer->came_to, pm_gettid(), __ATOMIC_RELAXED);
		return false;
	}
	if (pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &now) < 0)
		return false;
	while (now > seen && !__atomic_compare_exchange_n(&timer->seen, &seen, now, true,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	/* 0: a tick of another thread at the same time has told of all of it. */
	ret->weight = now > seen ? now - seen : 0;
	return ret->weight > 0;
}

/* ---------------------------------------------------------------------------------- POSIX timer */

/* Its time has come long ago: the kernel sends the signal within the call. Does it come here? */
static int fire(struct process_timer *timer)
{
	const struct itimerspec past = { { 0, 0 }, { 0, 1 } };
	pid_t came_to;

	__atomic_store_n(&timer->came_to, 0, __ATOMIC_RELAXED);
	if (timer_settime(timer->id, TIMER_ABSTIME, &past, NULL) != 0)
		return -errno;
	came_to = __atomic_load_n(&timer->came_to, __ATOMIC_RELAXED);
	return came_to > 0 && came_to == pm_gettid() ? 0 : -ENOTSUP;
}

static int fire_unblocked(struct process_timer *timer)
{
	sigset_t prof, before;
	int err;

	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	err = -pthread_sigmask(SIG_UNBLOCK, &prof, &before);
	if (err < 0)
		return err;
	err = fire(timer);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

static void *fire_in_thread(void *timer)
{
	return (void *)(intptr_t)fire_unblocked(timer);
}

/* A thread to which all of them go, whoever runs, cannot be both of two that live at a time. */
static int comes_to_who_runs(struct process_timer *timer)
{
	void *there = NULL;
	pthread_t thread;
	int err = fire_unblocked(timer);

	if (err < 0)
		return err;
	err = -pthread_create(&thread, NULL, fire_in_thread, timer);
	if (err < 0)
		return err;
	(void)pthread_join(thread, &there);
	return (int)(intptr_t)there;
}

/* Whether it runs: a call may be taken, and do nothing. */
static int set(const struct process_timer *timer, uint64_t period)
{
	const struct itimerspec wanted = pm_each(period);
	struct itimerspec now;

	if (timer_settime(timer->id, 0, &wanted, NULL) != 0 || timer_gettime(timer->id, &now) != 0)
		return -errno;
	return now.it_interval.tv_sec != 0 || now.it_interval.tv_nsec != 0 ? 0 : -EIO;
}

static void delete(struct process_timer *timer)
{
	timer->ring.left |= timer_delete(timer->id) != 0;
	timer->posix = false;
}

/* -errno, and in `why` what it is about. */
static int start_posix(struct process_timer *timer, uint64_t period, const char **why)
{
	struct sigevent event;
	int err;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGPROF;
	event.sigev_value.sival_ptr = timer;
	*why = "timer_create";
	if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer->id) != 0)
		return -errno;
	timer->posix = true;
	__atomic_store_n(&timer->trying, true, __ATOMIC_RELAXED);
	err = comes_to_who_runs(timer);
	__atomic_store_n(&timer->trying, false, __ATOMIC_RELAXED);
	*why = err == -ENOTSUP ? "the signal of a POSIX timer does not come to the thread that "
		"runs" : "trying a POSIX timer";
	if (err == 0) {
		*why = "timer_settime";
		err = set(timer, period);
	}
	if (err < 0)
		delete(timer);
	return err;
}

/* ---------------------------------------------------------------------------------- ITIMER_PROF */

static const struct itimerval off = { { 0, 0 }, { 0, 0 } };

/* The odd number of us tells it from others; the timer goes by the scheduler's tick anyway. */
static int start_itimer(struct process_timer *timer, uint64_t period)
{
	const struct timeval each = {
		.tv_sec = (time_t)(period / 1000000000),
		.tv_usec = (suseconds_t)(period % 1000000000 / 1000) | 1,
	};
	const struct itimerval wanted = { each, each };
	struct itimerval now;

	if (setitimer(ITIMER_PROF, &wanted, NULL) != 0)
		return -errno;
	if (getitimer(ITIMER_PROF, &now) != 0) {
		const int err = -errno;

		/* Nobody can tell later that it is ours; where it runs on, see undo(). */
		timer->ring.left |= setitimer(ITIMER_PROF, &off, NULL) != 0;
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
static bool stop_itimer(const struct process_timer *timer)
{
	struct itimerval now;

	if (timer->each.tv_sec == 0 && timer->each.tv_usec == 0)
		return true;
	if (getitimer(ITIMER_PROF, &now) != 0)
		return false;
	return now.it_interval.tv_sec != timer->each.tv_sec ||
		now.it_interval.tv_usec != timer->each.tv_usec ||
		setitimer(ITIMER_PROF, &off, NULL) == 0;
}

/* ----------------------------------------------------------------------------------------- life */

/* A timer that runs already belongs to somebody else, and sends the same signal. */
static bool is_somebodys(void)
{
	struct itimerval now;

	return getitimer(ITIMER_PROF, &now) == 0 &&
		(now.it_value.tv_sec != 0 || now.it_value.tv_usec != 0);
}

static int start(struct pm_session *session, struct process_timer *timer, struct pm_diag *diag)
{
	const uint64_t period = pm_cpu_timer_period(&session->plan->events[0].spec);
	const char *why;
	int err = start_posix(timer, period, &why);

	if (err == 0)
		return 0;
	if (!(session->plan->opts.allow & PM_ALLOW_ITIMER))
		return pm_diag_say(diag, -err, err == -ENOTSUP || err == -EIO ?
				   PM_CAUSE_SILENCE : PM_CAUSE_UNKNOWN,
				   "process_timer: %s: %s; ITIMER_PROF, which would end a program "
				   "that this one becomes by exec(2), is not allowed", why,
				   pm_errno_name(-err));
	err = start_itimer(timer, period);
	if (err == -EIO)
		return pm_diag_say(diag, EIO, PM_CAUSE_SILENCE, "process_timer: setitimer(2) is "
				   "taken, and ITIMER_PROF does not run");
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "process_timer: setitimer or "
				     "getitimer: %s", pm_errno_name(-err)) : 0;
}

static int attach(struct pm_session *session, struct pm_diag *diag)
{
	struct process_timer *timer = pm_signal_ring_create(sizeof(*timer), session);
	int err = timer ? 0 : -ENOMEM;

	if (err == 0)
		err = is_somebodys() ? -EBUSY : pm_signal_ring_install(&timer->ring, SIGPROF);
	if (err < 0) {
		free(timer);
		return pm_signal_ring_refused(diag, "process_timer", "SIGPROF or ITIMER_PROF: "
					      "already in use in this process", err);
	}
	session->own = timer;
	(void)pm_clock_ns(CLOCK_PROCESS_CPUTIME_ID, &timer->seen);
	return start(session, timer, diag);
}

static void undo(struct pm_session *session)
{
	struct process_timer *timer = session->own;

	if (timer == NULL)
		return;
	/* A forked child has no copy of it, and may have set its own. */
	if (session->pid == getpid() && timer->posix)
		delete(timer);
	else if (session->pid == getpid())
		timer->ring.left |= !stop_itimer(timer);
	pm_signal_ring_remove(session);
	free(timer);
}

static const struct operations operations = {
	.attach = attach,
	.drain = pm_signal_ring_drain,
	.undo = undo,
	.accept = accept_tick,
};

static int fits(const struct pm_plan *plan, struct candidate *candidate)
{
	if (plan->events[0].spec.tid != PM_ALL_THREADS)
		return pm_rule_out(candidate, EINVAL, "it is of all threads together");
	return pm_cpu_timer_fits(plan, candidate);
}

const struct strategy pm_strategy_process_timer = {
	.name = "process_timer",
	.what = "a timer of the process's CPU time, without perf, which the kernel looks at in its "
		"ticks: a thread that always waits again before the next one is missing",
	.able = FOR_SELF | CAN_SAMPLE,
	.needs = pm_needs_nothing,
	.fits = fits,
	.cost = pm_cpu_timer_cost,
	.operations = &operations,
};
