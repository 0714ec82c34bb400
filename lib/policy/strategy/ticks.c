/* SPDX-License-Identifier: MIT */
/*
 * The way of a sample from a signal handler to the reader: a ring of slots without locks, several
 * writers, one reader.
 *
 * The handler runs anywhere, also while the session is taken down, so it finds the ticks through
 * one static pointer and counts itself in and out.
 */
#define _GNU_SOURCE
#include "ticks.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static struct ticks *active;	/* atomic */
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

static struct tick_slot *claim(struct ticks *ticks, uint64_t *ret_position)
{
	uint64_t position = __atomic_load_n(&ticks->head, __ATOMIC_RELAXED);

	for (;;) {
		struct tick_slot *slot = &ticks->slots[position & (TICK_SLOTS - 1)];
		uint64_t turn = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE);

		if (turn < position)
			return NULL;
		if (turn > position)
			position = __atomic_load_n(&ticks->head, __ATOMIC_RELAXED);
		else if (__atomic_compare_exchange_n(&ticks->head, &position, position + 1, true,
						     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			*ret_position = position;
			return slot;
		}
	}
}

static void note(struct ticks *ticks, const siginfo_t *info, const void *context)
{
	struct tick tick = { .count = 1 };
	struct tick_slot *slot;
	uint64_t position;

	if (!ticks->accept(ticks, info, &tick))
		return;
	slot = claim(ticks, &position);
	if (slot == NULL) {
		__atomic_fetch_add(&ticks->dropped, tick.count, __ATOMIC_RELAXED);
		return;
	}
	(void)pm_clock_ns(CLOCK_MONOTONIC, &tick.time);
	tick.ip = instruction(context);
	tick.tid = (uint32_t)pm_gettid();
	tick.cpu = (uint32_t)sched_getcpu();
	slot->tick = tick;
	__atomic_store_n(&slot->turn, position + 1, __ATOMIC_RELEASE);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	struct ticks *ticks;

	__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
	ticks = __atomic_load_n(&active, __ATOMIC_SEQ_CST);
	if (ticks != NULL && number == ticks->number)
		note(ticks, info, context);
	__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
	errno = saved;
}

/* ----------------------------------------------------------------------------------------- life */

void *pm_ticks_create(size_t size)
{
	struct ticks *ticks = calloc(1, size);

	for (uint64_t i = 0; ticks != NULL && i < TICK_SLOTS; i++)
		ticks->slots[i].turn = i;
	return ticks;
}

/* In a forked child: the handler was copied, the threads that ran it were not. */
static void forget_parent(struct ticks *ticks)
{
	(void)sigaction(ticks->number, &ticks->before, NULL);
	__atomic_store_n(&active, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&inside, 0, __ATOMIC_SEQ_CST);
}

int pm_ticks_install(struct ticks *ticks, int number)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct ticks *none = __atomic_load_n(&active, __ATOMIC_SEQ_CST);

	action.sa_sigaction = on_signal;
	sigemptyset(&action.sa_mask);
	ticks->number = number;
	ticks->pid = getpid();
	if (none != NULL && none->pid != ticks->pid)
		forget_parent(none);
	none = NULL;
	if (!__atomic_compare_exchange_n(&active, &none, ticks, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return -EBUSY;
	if (sigaction(number, NULL, &ticks->before) == 0 &&
	    ticks->before.sa_handler == SIG_DFL && sigaction(number, &action, NULL) == 0)
		return 0;
	/* Somebody else profiles this program; taking the signal away would break that. */
	__atomic_store_n(&active, NULL, __ATOMIC_SEQ_CST);
	return -EBUSY;
}

void pm_ticks_remove(struct ticks *ticks)
{
	struct sigaction ignore = { .sa_flags = 0 };

	if (ticks->pid != getpid()) {
		if (__atomic_load_n(&active, __ATOMIC_SEQ_CST) == ticks)
			forget_parent(ticks);
		return;
	}
	/* Ignoring a signal throws away what is pending of it, in every thread. */
	ignore.sa_handler = SIG_IGN;
	(void)sigaction(ticks->number, &ignore, NULL);
	(void)sigaction(ticks->number, &ticks->before, NULL);
	__atomic_store_n(&active, NULL, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&inside, __ATOMIC_SEQ_CST) != 0)
		(void)sched_yield();
}

/* --------------------------------------------------------------------------------------- reader */

static void deliver(struct pm_session *session, const struct tick *tick)
{
	struct pm_observed observed = {
		.pid = (uint32_t)session->pid, .tid = tick->tid, .cpu = tick->cpu,
		.time = tick->time, .ip = tick->ip, .address = tick->address,
	};

	session->stats.records++;
	if (!session->ticks->describe(session, tick, &observed))
		return;
	session->stats.samples++;
	if (session->listener.sample != NULL)
		session->listener.sample(session->context, &observed);
}

int pm_ticks_drain(struct pm_session *session)
{
	struct ticks *ticks = session->ticks;
	int count = 0;

	for (; count < TICK_SLOTS; count++) {
		struct tick_slot *slot = &ticks->slots[ticks->tail & (TICK_SLOTS - 1)];
		struct tick tick;

		if (__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) != ticks->tail + 1)
			break;
		tick = slot->tick;
		__atomic_store_n(&slot->turn, ticks->tail + TICK_SLOTS, __ATOMIC_RELEASE);
		ticks->tail++;
		deliver(session, &tick);
	}
	session->stats.dropped = __atomic_load_n(&ticks->dropped, __ATOMIC_RELAXED);
	return count;
}

bool pm_ticks_is_due(struct pm_session *session)
{
	uint64_t now = 0;

	(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	if (!session->follows || now - session->followed_at < TICK_FOLLOW_NS)
		return false;
	session->followed_at = now;
	return true;
}
