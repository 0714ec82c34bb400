/* SPDX-License-Identifier: MIT */
/*
 * Strategy timers: where perf is refused, a POSIX timer on each thread's CPU clock sends SIGPROF
 * to that very thread, and its handler notes where the thread was.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../diagnosis/diag.h"
#include "../engine/wait.h"
#include "../spec/now.h"
#include "cpu_timer.h"
#include "signal_ring.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct timer {
	pid_t tid;
	timer_t id;
};

struct timers {
	struct signal_ring ring;
	uint64_t period;
	struct timer *list;
	size_t count, room;
	const char *refused;		/* the call that failed */
};

static struct timers *timers_of(const struct pm_session *session)
{
	return session->own;
}

/* --------------------------------------------------------------------------------------- timers */

static int start(struct timers *timers, pid_t tid)
{
	const struct itimerspec each = pm_each(timers->period);
	struct sigevent event;
	timer_t id;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGPROF;
	event.sigev_value.sival_ptr = timers;
	event.sigev_notify_thread_id = tid;
	timers->refused = "timer_create";
	if (timer_create(pm_thread_clock(tid), &event, &id) != 0)
		return -errno;
	timers->refused = "timer_settime";
	if (timer_settime(id, 0, &each, NULL) != 0) {
		int err = -errno;

		(void)timer_delete(id);
		return err;
	}
	timers->list[timers->count++] = (struct timer){ tid, id };
	return 0;
}

static int watch(pid_t tid, void *context)
{
	struct timers *timers = context;
	int err = pm_make_room(&timers->list, timers->count, &timers->room, sizeof(struct timer));

	if (err == 0)
		err = start(timers, tid);
	/* EINVAL: a clock of a thread that has ended. */
	return err == -EINVAL ? -ESRCH : err;
}

/* In the handler. */
static bool accept_tick(struct signal_ring *ring, const siginfo_t *info, struct signal_sample *ret)
{
	ret->count = 1 + (uint64_t)info->si_overrun;
	ret->weight = ret->count * ((struct timers *)ring)->period;
	return info->si_code == SI_TIMER && info->si_value.sival_ptr == ring;
}

static int watch_late(pid_t tid, void *context)
{
	struct pm_session *session = context;

	return pm_threads_late(&session->threads, &session->stats, tid,
			       watch(tid, timers_of(session)));
}

/* Another thread may have got the number; a timer whose own thread has ended stands still at 0. */
static bool is_alive(const struct pm_session *session, const struct timer *timer)
{
	struct itimerspec left;

	return syscall(SYS_tgkill, session->pid, timer->tid, 0) == 0 &&
		timer_gettime(timer->id, &left) == 0 &&
		(left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0);
}

/* A timer outlives its thread, and counts against RLIMIT_SIGPENDING. */
static void let_go_of_ended(struct pm_session *session)
{
	struct timers *timers = timers_of(session);

	for (size_t i = 0; i < timers->count;) {
		if (is_alive(session, &timers->list[i])) {
			i++;
			continue;
		}
		pm_threads_forget(&session->threads, timers->list[i].tid);
		timers->ring.left |= timer_delete(timers->list[i].id) != 0;
		timers->list[i] = timers->list[--timers->count];
	}
}

static void follow(struct pm_session *session)
{
	if (!pm_follow_is_due(session))
		return;
	let_go_of_ended(session);
	(void)pm_threads_list(&session->threads, watch_late, session);
}

static void undo(struct pm_session *session)
{
	struct timers *timers = timers_of(session);

	if (timers == NULL)
		return;
	/* A forked child has no copies of them, and may have given their numbers to its own. */
	for (size_t i = 0; session->pid == getpid() && i < timers->count; i++)
		timers->ring.left |= timer_delete(timers->list[i].id) != 0;
	pm_signal_ring_remove(session);
	free(timers->list);
	free(timers);
}

/* --------------------------------------------------------------------------------------- attach */

static int attach(struct pm_session *session, struct pm_diag *diag)
{
	const struct pm_event_spec *spec = &session->plan->events[0].spec;
	struct timers *timers = pm_signal_ring_create(sizeof(*timers), session);
	int err = timers ? pm_signal_ring_install(&timers->ring, SIGPROF) : -ENOMEM;

	if (err < 0) {
		free(timers);
		return pm_signal_ring_refused(diag, "timers", "SIGPROF is already in use in this "
					      "process", err);
	}
	session->own = timers;
	timers->period = pm_cpu_timer_period(spec);
	err = spec->tid == PM_ALL_THREADS ? pm_threads_list(&session->threads, watch, timers) :
		watch(spec->tid ? spec->tid : pm_gettid(), timers);
	if (err >= 0 && timers->count == 0)
		err = -ESRCH;
	pm_follow_begin(session, spec->tid == PM_ALL_THREADS);
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "timers: %s: %s",
				     timers->refused ? timers->refused : "threads",
				     pm_errno_name(-err)) : 0;
}

/* Its time has come long ago, so the kernel sends the signal at once. */
static bool fires(struct pm_session *session, const struct timer *timer)
{
	const struct itimerspec each = pm_each(timers_of(session)->period);
	const struct itimerspec past = { each.it_interval, { 0, 1 } };

	session->proof->canary.tid = timer->tid;
	if (timer_settime(timer->id, TIMER_ABSTIME, &past, NULL) == 0)
		(void)pm_signal_ring_drain(session);
	(void)timer_settime(timer->id, 0, &each, NULL);
	session->proof->canary.tid = 0;
	return session->proof->canary.samples[0] > 0;
}

static bool is_blocked(int number)
{
	sigset_t blocked;

	return pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0 || sigismember(&blocked, number);
}

/* Each is armed, and that of the calling thread sends its signal. */
static int prove(struct pm_session *session, bool patient, char *reason, size_t size)
{
	const struct timers *timers = timers_of(session);

	(void)patient;
	for (size_t i = 0; i < timers->count; i++) {
		const struct timer *timer = &timers->list[i];
		struct itimerspec left;

		if (timer->tid == pm_gettid() && !is_blocked(SIGPROF) && !fires(session, timer)) {
			snprintf(reason, size, "a timer whose time had come sent no signal");
			return -EIO;
		}
		if (syscall(SYS_tgkill, session->pid, timer->tid, 0) == 0 &&
		    timer_gettime(timer->id, &left) == 0 && left.it_interval.tv_sec == 0 &&
		    left.it_interval.tv_nsec == 0) {
			snprintf(reason, size, "the timer of thread %d was set and does not run",
				 (int)timer->tid);
			return -EIO;
		}
	}
	return 0;
}

static const struct operations operations = {
	.attach = attach,
	.prove = prove,
	.follow = follow,
	.drain = pm_signal_ring_drain,
	.undo = undo,
	.accept = accept_tick,
};

const struct strategy pm_strategy_timers = {
	.name = "timers",
	.what = "POSIX CPU-time timers, one a thread, without perf, which the kernel looks at in "
		"its ticks; threads that end before they are noticed, or always wait again before "
		"the next tick, are missing, which cpu_time tells",
	.able = FOR_SELF | CAN_SAMPLE,
	.needs = pm_needs_nothing,
	.fits = pm_cpu_timer_fits,
	.cost = pm_cpu_timer_cost,
	.operations = &operations,
};
