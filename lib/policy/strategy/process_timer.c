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
#include "../plan/weigh.h"
#include "cpu_timer.h"
#include "sigring.h"

struct process_timer {
	struct sigring ring;
	uint64_t period;
};

/* In the handler. A kill(2) by somebody is no tick; the kernel says SI_KERNEL. */
static bool accept_tick(struct sigring *ring, const siginfo_t *info, struct sigring_sample *ret)
{
	(void)ring;
	(void)ret;
	return info->si_code > 0;
}

static bool describe(struct pm_session *session, const struct sigring_sample *sample,
		     struct pm_observed *ret)
{
	ret->period = sample->count * ((struct process_timer *)session->own)->period;
	return true;
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

/*
 * Whether the timer that runs is the one that was started. A program that has taken over the signal
 * has set the timer as well; where it has not, a tick of ours would end it.
 */
static bool is_ours(const struct process_timer *timer)
{
	struct sigaction now;

	return pm_sigring_is_ours(&timer->ring) || (sigaction(SIGPROF, NULL, &now) == 0 &&
		!(now.sa_flags & SA_SIGINFO) && (now.sa_handler == SIG_DFL ||
		 now.sa_handler == SIG_IGN));
}

static int attach(struct pm_session *session, struct pm_diag *diag)
{
	struct process_timer *timer = pm_sigring_create(sizeof(*timer), session->operations);
	int err = timer ? pm_sigring_install(&timer->ring, SIGPROF) : -ENOMEM;

	if (err < 0) {
		free(timer);
	} else {
		session->own = timer;
		timer->period = pm_cpu_timer_period(&session->plan->events[0].spec);
		err = start(timer->period);
		/* Somebody else's must not be switched off. */
		if (err == -EBUSY) {
			pm_sigring_remove(&timer->ring);
			session->own = NULL;
			free(timer);
		}
	}
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "process_timer: %s",
				     err == -EBUSY ? "SIGPROF or ITIMER_PROF is already in use in "
				     "this process" : pm_errno_name(-err)) : 0;
}

static void undo(struct pm_session *session)
{
	const struct itimerval off = { { 0, 0 }, { 0, 0 } };
	struct process_timer *timer = session->own;

	if (timer == NULL)
		return;
	/* A forked child has no copy of it, and may have set its own. */
	if (session->pid == getpid() && is_ours(timer))
		(void)setitimer(ITIMER_PROF, &off, NULL);
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
