/* SPDX-License-Identifier: MIT */
/*
 * Strategy timers: where perf is refused, a POSIX timer on each thread's CPU clock sends SIGPROF
 * to that very thread, and its handler notes where the thread was.
 *
 * The handler runs anywhere, also while the session is taken down, so it finds the session through
 * one static pointer and counts itself in and out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "attach.h"
#include "diag.h"
#include "profile.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define SLOTS 8192		/* samples between two polls; a power of two */
#define PERIOD_LEAST 1000000	/* ns; CPU timers tick with the scheduler anyway */
#define FOLLOW_NS 50000000

/* A slot is free for position p when turn == p, and filled when turn == p + 1. */
struct slot {
	uint64_t turn;
	uint64_t time, ip, ticks;
	uint32_t tid, cpu;
};

struct timer {
	pid_t tid;
	timer_t id;
};

struct timers {
	struct slot slots[SLOTS];
	uint64_t head, tail;
	uint64_t dropped;
	uint64_t period;
	struct timer *list;
	size_t count, room;
	struct sigaction before;
};

static struct timers *active;	/* atomic */
static unsigned int inside;	/* atomic: handlers at work */

/* -------------------------------------------------------------------------------------- handler */

static uint64_t instruction(const void *context)
{
	const ucontext_t *at = context;

#if defined(__x86_64__)
	return (uint64_t)at->uc_mcontext.gregs[REG_RIP];
#elif defined(__i386__)
	return (uint32_t)at->uc_mcontext.gregs[REG_EIP];
#elif defined(__aarch64__)
	return at->uc_mcontext.pc;
#elif defined(__arm__)
	return at->uc_mcontext.arm_pc;
#elif defined(__riscv)
	return (uint64_t)at->uc_mcontext.__gregs[0];
#elif defined(__s390x__)
	return at->uc_mcontext.psw.addr;
#else
	(void)at;
	return 0;
#endif
}

static struct slot *claim(struct timers *timers, uint64_t *ret_position)
{
	uint64_t position = __atomic_load_n(&timers->head, __ATOMIC_RELAXED);

	for (;;) {
		struct slot *slot = &timers->slots[position & (SLOTS - 1)];
		uint64_t turn = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE);

		if (turn < position)
			return NULL;
		if (turn > position)
			position = __atomic_load_n(&timers->head, __ATOMIC_RELAXED);
		else if (__atomic_compare_exchange_n(&timers->head, &position, position + 1, true,
						     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			*ret_position = position;
			return slot;
		}
	}
}

static void note(struct timers *timers, const siginfo_t *info, const void *context)
{
	uint64_t position;
	struct slot *slot = claim(timers, &position);

	if (slot == NULL) {
		__atomic_fetch_add(&timers->dropped, 1 + (uint64_t)info->si_overrun,
				   __ATOMIC_RELAXED);
		return;
	}
	slot->time = 0;
	(void)pm_clock_ns(CLOCK_MONOTONIC, &slot->time);
	slot->ip = instruction(context);
	slot->ticks = 1 + (uint64_t)info->si_overrun;
	slot->tid = (uint32_t)pm_gettid();
	slot->cpu = (uint32_t)sched_getcpu();
	__atomic_store_n(&slot->turn, position + 1, __ATOMIC_RELEASE);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	struct timers *timers;

	(void)number;
	__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
	timers = __atomic_load_n(&active, __ATOMIC_SEQ_CST);
	if (timers != NULL && info->si_code == SI_TIMER && info->si_value.sival_ptr == timers)
		note(timers, info, context);
	__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
	errno = saved;
}

/* --------------------------------------------------------------------------------------- timers */

/* The kernel's name for the CPU clock of a thread: its id inverted, over three bits of kind. */
static clockid_t thread_clock(pid_t tid)
{
	return (clockid_t)(~(unsigned int)tid << 3 | 6);
}

static int start(struct timers *timers, pid_t tid)
{
	const struct timespec period = {
		.tv_sec = (time_t)(timers->period / 1000000000),
		.tv_nsec = (long)(timers->period % 1000000000),
	};
	const struct itimerspec each = { period, period };
	struct sigevent event;
	timer_t id;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGPROF;
	event.sigev_value.sival_ptr = timers;
	event.sigev_notify_thread_id = tid;
	if (timer_create(thread_clock(tid), &event, &id) != 0)
		return -errno;
	if (timer_settime(id, 0, &each, NULL) != 0) {
		int err = -errno;

		(void)timer_delete(id);
		return err;
	}
	timers->list[timers->count++] = (struct timer){ tid, id };
	return 0;
}

static int watch(struct pm_session *session, pid_t tid, void *context)
{
	struct timers *timers = session->timers;
	int err;

	(void)context;
	if (timers->count == timers->room) {
		size_t room = timers->room ? 2 * timers->room : 64;
		struct timer *more = realloc(timers->list, room * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		timers->list = more;
		timers->room = room;
	}
	err = start(timers, tid);
	/* EINVAL: a clock of a thread that has ended. */
	return err == -EINVAL || err == -ESRCH ? 0 : err;
}

static int watch_one(struct pm_session *session, pid_t tid)
{
	return watch(session, tid ? tid : pm_gettid(), NULL);
}

static uint64_t period_of(const struct pm_event_spec *spec)
{
	uint64_t period = spec->frequency ? 1000000000 / spec->frequency : spec->period;

	return period < PERIOD_LEAST ? PERIOD_LEAST : period;
}

static struct timers *make(const struct pm_event_spec *spec)
{
	struct timers *timers = calloc(1, sizeof(*timers));

	if (timers == NULL)
		return NULL;
	timers->period = period_of(spec);
	for (uint64_t i = 0; i < SLOTS; i++)
		timers->slots[i].turn = i;
	return timers;
}

static int install(struct timers *timers)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct timers *none = NULL;

	action.sa_sigaction = on_signal;
	sigemptyset(&action.sa_mask);
	if (!__atomic_compare_exchange_n(&active, &none, timers, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return -EBUSY;
	if (sigaction(SIGPROF, NULL, &timers->before) == 0 &&
	    timers->before.sa_handler == SIG_DFL && sigaction(SIGPROF, &action, NULL) == 0)
		return 0;
	/* Somebody else profiles this program; taking the signal away would break that. */
	__atomic_store_n(&active, NULL, __ATOMIC_SEQ_CST);
	return -EBUSY;
}

int pm_attach_timers(struct pm_session *session, struct pm_diag *diag)
{
	const struct pm_event_spec *spec = &session->plan->events[0].spec;
	struct timers *timers = make(spec);
	int err = timers ? install(timers) : -ENOMEM;

	if (err < 0) {
		free(timers);
		return pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "timers: SIGPROF: %s",
				   err == -EBUSY ? "already in use in this process" :
				   pm_errno_name(-err));
	}
	session->timers = timers;
	err = spec->tid == PM_ALL_THREADS ? pm_attach_list(session, watch, NULL) :
		watch_one(session, spec->tid);
	if (err >= 0 && timers->count == 0)
		err = -ESRCH;
	session->follows = spec->tid == PM_ALL_THREADS;
	(void)pm_clock_ns(CLOCK_MONOTONIC, &session->followed_at);
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "timers: timer_create: %s",
				     pm_errno_name(-err)) : 0;
}

/* -------------------------------------------------------------------------------------- polling */

int pm_timers_drain(struct pm_session *session)
{
	struct timers *timers = session->timers;
	int count = 0;

	for (; count < SLOTS; count++) {
		struct slot *slot = &timers->slots[timers->tail & (SLOTS - 1)];
		struct pm_observed observed = { .pid = (uint32_t)session->pid };

		if (__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) != timers->tail + 1)
			break;
		observed.tid = slot->tid;
		observed.cpu = slot->cpu;
		observed.time = slot->time;
		observed.ip = slot->ip;
		observed.period = slot->ticks * timers->period;
		__atomic_store_n(&slot->turn, timers->tail + SLOTS, __ATOMIC_RELEASE);
		timers->tail++;
		session->stats.records++;
		session->stats.samples++;
		if (session->listener.sample != NULL)
			session->listener.sample(session->context, &observed);
	}
	session->stats.dropped = __atomic_load_n(&timers->dropped, __ATOMIC_RELAXED);
	return count;
}

static int watch_late(struct pm_session *session, pid_t tid, void *context)
{
	session->stats.late_threads++;
	(void)watch(session, tid, context);
	return 0;
}

/* A timer outlives its thread, and counts against RLIMIT_SIGPENDING. */
static void let_go_of_ended(struct pm_session *session)
{
	struct timers *timers = session->timers;

	for (size_t i = 0; i < timers->count;) {
		struct thread_mark *mark;

		if (syscall(SYS_tgkill, session->pid, timers->list[i].tid, 0) == 0) {
			i++;
			continue;
		}
		mark = pm_threads_mark(&session->threads, timers->list[i].tid, false);
		if (mark != NULL)
			mark->listed = false;
		(void)timer_delete(timers->list[i].id);
		timers->list[i] = timers->list[--timers->count];
	}
}

void pm_timers_follow(struct pm_session *session)
{
	uint64_t now = 0;

	(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	if (!session->follows || now - session->followed_at < FOLLOW_NS)
		return;
	session->followed_at = now;
	let_go_of_ended(session);
	(void)pm_attach_list(session, watch_late, NULL);
}

void pm_timers_undo(struct pm_session *session)
{
	struct timers *timers = session->timers;
	struct sigaction ignore = { .sa_flags = 0 };

	if (timers == NULL)
		return;
	for (size_t i = 0; i < timers->count; i++)
		(void)timer_delete(timers->list[i].id);
	/* Ignoring a signal throws away what is pending of it, in every thread. */
	ignore.sa_handler = SIG_IGN;
	(void)sigaction(SIGPROF, &ignore, NULL);
	(void)sigaction(SIGPROF, &timers->before, NULL);
	__atomic_store_n(&active, NULL, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&inside, __ATOMIC_SEQ_CST) != 0)
		(void)sched_yield();
	session->timers = NULL;
	free(timers->list);
	free(timers);
}
