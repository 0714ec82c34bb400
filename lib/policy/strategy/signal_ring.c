/* SPDX-License-Identifier: MIT */
/*
 * From a signal handler to the reader: a lock-free ring of slots with several writers and one
 * reader.
 *
 * The handler runs anywhere, also while the session is taken down. So it finds the ring through
 * one static pointer, and the number of handlers at work is counted. The reader comes by the clock,
 * and is woken at each quarter of the ring.
 */
#define _GNU_SOURCE
#include "signal_ring.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../diagnosis/diag.h"
#include "../proof/seen.h"


#ifndef PT_NIP
#define PT_NIP 32	/* of the kernel's <asm/ptrace.h>, for Power */
#endif

static struct signal_ring *active;	/* atomic */
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
#elif defined(__powerpc64__)
	return at->uc_mcontext.gp_regs[PT_NIP];
#elif defined(__mips__)
	return at->uc_mcontext.pc;
#else
	(void)at;
	return 0;
#endif
}

static struct signal_slot *claim(struct signal_ring *ring, uint64_t *ret_position)
{
	uint64_t position = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);

	for (;;) {
		struct signal_slot *slot = &ring->slots[position & (SIGNAL_RING_SLOTS - 1)];
		uint64_t turn = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE);

		if (turn < position)
			return NULL;
		if (turn > position)
			position = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
		else if (__atomic_compare_exchange_n(&ring->head, &position, position + 1, true,
						     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			*ret_position = position;
			return slot;
		}
	}
}

/* Most of it is room for a chain, which is copied as far as it is used. */
static void copy(struct signal_sample *to, const struct signal_sample *from)
{
	memcpy(to, from, offsetof(struct signal_sample, chain));
	memcpy(to->chain, from->chain, from->depth * sizeof(from->chain[0]));
}

static void note(struct signal_ring *ring, const siginfo_t *info, const void *context)
{
	struct signal_sample sample;
	struct signal_slot *slot;
	uint64_t position;

	memset(&sample, 0, offsetof(struct signal_sample, chain));
	sample.count = 1;
	if (!ring->operations->accept(ring, info, &sample))
		return;
	slot = claim(ring, &position);
	if (slot == NULL) {
		__atomic_fetch_add(&ring->dropped, sample.count, __ATOMIC_RELAXED);
		return;
	}
	(void)pm_clock_ns(CLOCK_MONOTONIC, &sample.time);
	sample.ip = instruction(context);
	sample.tid = (uint32_t)pm_gettid();
	sample.cpu = (uint32_t)sched_getcpu();
	copy(&slot->sample, &sample);
	if (ring->chains)
		slot->sample.depth = pm_frames_walk(context, slot->sample.chain);
	__atomic_store_n(&slot->turn, position + 1, __ATOMIC_RELEASE);
	if ((position + 1) % (SIGNAL_RING_SLOTS / 4) == 0)
		pm_stop_wake(ring->stop);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	struct signal_ring *ring;

	__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
	ring = __atomic_load_n(&active, __ATOMIC_SEQ_CST);
	if (ring != NULL && number == ring->number)
		note(ring, info, context);
	__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
	errno = saved;
}

/* ----------------------------------------------------------------------------------------- life */

void *pm_signal_ring_create(size_t size, const struct pm_session *session)
{
	struct signal_ring *ring = calloc(1, size);

	if (ring == NULL)
		return NULL;
	for (uint64_t i = 0; i < SIGNAL_RING_SLOTS; i++)
		ring->slots[i].turn = i;
	for (size_t i = 0; i < session->plan->count; i++)
		ring->chains |= session->plan->events[i].spec.want & PM_WANT_CALLCHAIN;
	ring->operations = session->operations;
	ring->stop = &session->stop;
	return ring;
}

/* Whether the signal still comes here: the program may have taken it over since. */
static bool is_ours(const struct signal_ring *ring)
{
	struct sigaction now = { .sa_flags = 0 };	/* a filter may say 0 and do nothing */

	return sigaction(ring->number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
		now.sa_sigaction == on_signal;
}

/*
 * Gives the signal back, unless the program has taken it over: what was there before would end it
 * at its next signal. In between it is ignored, which throws away what is pending in every thread;
 * where that is refused, the handler stays, which has nothing to do any more.
 */
static void give_back(const struct signal_ring *ring)
{
	struct sigaction ignore = { .sa_flags = 0 };

	if (!is_ours(ring))
		return;
	ignore.sa_handler = SIG_IGN;
	if (sigaction(ring->number, &ignore, NULL) == 0)
		(void)sigaction(ring->number, &ring->before, NULL);
}

/* In a forked child: the handler was copied, the threads that ran it were not. */
static void forget_parent(struct signal_ring *ring)
{
	give_back(ring);
	__atomic_store_n(&active, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&inside, 0, __ATOMIC_SEQ_CST);
}

int pm_signal_ring_install(struct signal_ring *ring, int number)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct signal_ring *none = __atomic_load_n(&active, __ATOMIC_SEQ_CST);
	int err;

	action.sa_sigaction = on_signal;
	sigemptyset(&action.sa_mask);
	ring->number = number;
	ring->pid = getpid();
	if (none != NULL && none->pid != ring->pid)
		forget_parent(none);
	none = NULL;
	if (!__atomic_compare_exchange_n(&active, &none, ring, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return -EBUSY;
	err = sigaction(number, NULL, &ring->before) == 0 ? 0 : -errno;
	/* Somebody else profiles this program; taking the signal away would break that. */
	if (err == 0 && ring->before.sa_handler != SIG_DFL)
		err = -EBUSY;
	if (err == 0 && sigaction(number, &action, NULL) != 0)
		err = -errno;
	/* Taken, and not set: the first signal would end the program. */
	if (err == 0 && !is_ours(ring))
		err = -EIO;
	if (err < 0)
		__atomic_store_n(&active, NULL, __ATOMIC_SEQ_CST);
	return err;
}

int pm_signal_ring_refused(struct pm_diag *diag, const char *strategy, const char *busy, int err)
{
	if (err == -EBUSY)
		return pm_diag_say(diag, EBUSY, PM_CAUSE_UNKNOWN, "%s: %s", strategy, busy);
	if (err == -EIO)
		return pm_diag_say(diag, EIO, PM_CAUSE_SILENCE, "%s: sigaction(2) is taken, and "
				   "the handler is not set", strategy);
	return pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "%s: sigaction: %s", strategy,
			   pm_errno_name(-err));
}

void pm_signal_ring_remove(struct pm_session *session)
{
	struct signal_ring *ring = session->own;

	session->own = NULL;
	/* The next signal would end the process. */
	if (ring->left)
		ring->before.sa_handler = SIG_IGN;
	if (ring->pid != getpid()) {
		if (__atomic_load_n(&active, __ATOMIC_SEQ_CST) == ring)
			forget_parent(ring);
		return;
	}
	give_back(ring);
	__atomic_store_n(&active, NULL, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&inside, __ATOMIC_SEQ_CST) != 0)
		(void)sched_yield();
}

/* --------------------------------------------------------------------------------------- reader */

/* As the kernel writes chains: a mark that says whose frames they are, then the instruction. */
static void set_chain(const struct signal_sample *sample, uint64_t chain[2 + FRAMES_DEPTH],
		      struct pm_observed *ret)
{
	chain[0] = PERF_CONTEXT_USER;
	chain[1] = sample->ip;
	memcpy(chain + 2, sample->chain, sample->depth * sizeof(chain[0]));
	ret->callchain = chain;
	ret->callchain_count = 2 + sample->depth;
}

static void deliver(struct pm_session *session, const struct signal_sample *sample)
{
	uint64_t chain[2 + FRAMES_DEPTH];
	struct pm_observed observed = {
		.size = sizeof(observed), .pid = (uint32_t)session->pid, .tid = sample->tid,
		.cpu = sample->cpu, .time = sample->time, .ip = sample->ip,
		.period = sample->weight,
	};

	session->stats.records++;
	if (session->operations->describe != NULL &&
	    !session->operations->describe(session, sample, &observed))
		return;
	if ((pid_t)sample->tid == session->proof->canary.tid) {
		session->proof->canary.samples[observed.event]++;
		return;
	}
	if (((const struct signal_ring *)session->own)->chains)
		set_chain(sample, chain, &observed);
	session->stats.samples++;
	pm_proof_outside_rings(session, (uint32_t)observed.event, observed.period);
	observed.event = session->plan->events[observed.event].asked;
	if (session->listener.sample != NULL)
		session->listener.sample(session->context, &observed);
}

int pm_signal_ring_drain(struct pm_session *session)
{
	struct signal_ring *ring = session->own;
	int count = 0;

	for (; count < SIGNAL_RING_SLOTS; count++) {
		struct signal_slot *slot = &ring->slots[ring->tail & (SIGNAL_RING_SLOTS - 1)];
		struct signal_sample sample;

		if (__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) != ring->tail + 1)
			break;
		copy(&sample, &slot->sample);
		__atomic_store_n(&slot->turn, ring->tail + SIGNAL_RING_SLOTS, __ATOMIC_RELEASE);
		ring->tail++;
		deliver(session, &sample);
	}
	session->stats.dropped = __atomic_load_n(&ring->dropped, __ATOMIC_RELAXED);
	return count;
}
