/* SPDX-License-Identifier: MIT */
/*
 * Strategy ebb: each thread samples itself by event-based branches, and the kernel has no part in
 * a sample. Only who allows it gets it, because it takes the PMU from all other events. Where
 * another pinned event takes the PMU from it, the session goes on by the next strategy.
 */
#define _GNU_SOURCE
#include "strategy.h"

#ifdef PM_HAS_EBB

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../policy/diagnosis/diag.h"
#include "../policy/engine/wait.h"
#include "../policy/plan/cost.h"
#include "../policy/proof/seen.h"
#include "../policy/strategy/signal_ring.h"
#include "open.h"

#define PROOF_PERIOD 20000		/* cycles */
#define PROOF_NS 50000000
#define LOOKS 100000000		/* of a clock that stands still */
#define PERIOD_MAX 0x7fffffffull

struct branches {
	struct ebb_thread **list;
	size_t count, room;
	struct pm_ebb_counter counters[PM_EBB_COUNTERS];
	struct pm_ebb_opts opts;
	uint64_t timebase, ns;		/* the same instant */
	uint64_t gone;			/* dropped by threads that have ended */
	bool enlisting;
};

/* --------------------------------------------------------------------------------------- events */

/* The raw code of a spec on a counter that is free yet; 0: it cannot branch. */
static uint64_t code_of(const struct pm_event_spec *spec, unsigned int *used)
{
	uint64_t code = spec->type == PM_TYPE_RAW ? spec->config & 0xffffffffull : 0;

	if (spec->type == PM_TYPE_HARDWARE && spec->config == PM_HW_CYCLES)
		code = 0x1e;
	if (spec->type == PM_TYPE_HARDWARE && spec->config == PM_HW_INSTRUCTIONS)
		code = 0x02;
	for (unsigned int pmc = code == 0x02 ? 2 : 1; code != 0 && !(code >> 16 & 0xf); pmc++) {
		if (pmc > 4)
			return 0;
		if (!(*used & 1u << pmc))
			code |= (uint64_t)pmc << 16;
	}
	if (code == 0 || (code >> 16 & 0xf) > PM_EBB_COUNTERS || *used & 1u << (code >> 16 & 0xf))
		return 0;
	*used |= 1u << (code >> 16 & 0xf);
	return code;
}

static int fits_event(const struct pm_event_spec *spec, size_t i, unsigned int *used,
		      struct candidate *candidate)
{
	if (i >= PM_EBB_COUNTERS || code_of(spec, used) == 0)
		return pm_rule_out(candidate, EINVAL, "no counter that branches is left for event "
				   "%zu: cycles, instructions or a raw code", i);
	if (spec->period == 0 || spec->period > PERIOD_MAX)
		return pm_rule_out(candidate, EINVAL, "event %zu needs a period up to 2^31 - 1, "
				   "not a frequency", i);
	if (spec->want & (PM_WANT_ADDRESS | PM_WANT_CALLCHAIN | PM_WANT_RAW))
		return pm_rule_out(candidate, EINVAL, "a branch tells no address, call chain or "
				   "raw data of event %zu", i);
	if (spec->tid != PM_ALL_THREADS && spec->tid != 0)
		return pm_rule_out(candidate, EINVAL, "event %zu is of another thread: only all of "
				   "them or the calling one can be asked", i);
	return 0;
}

static int fits(const struct pm_plan *plan, struct candidate *candidate)
{
	struct pm_diag diag = { .size = sizeof(diag) };
	unsigned int used = 0;

	if (!(plan->opts.allow & PM_ALLOW_EBB))
		return pm_rule_out(candidate, EINVAL, "event-based branches are not allowed");
	for (size_t i = 0; i < plan->count; i++) {
		int err = fits_event(&plan->events[i].spec, i, &used, candidate);

		if (err < 0)
			return err;
		if (plan->events[i].spec.tid != plan->events[0].spec.tid)
			return pm_rule_out(candidate, EINVAL, "its events are all of the same "
					   "threads");
	}
	if (pm_ebb_supported(&diag) > 0)
		return 0;
	candidate->cause = diag.cause;
	return pm_rule_out(candidate, diag.error, "%s", diag.text);
}

static void describe_counters(const struct pm_plan *plan, struct branches *branches)
{
	unsigned int used = 0;

	for (size_t i = 0; i < plan->count; i++)
		branches->counters[i] = (struct pm_ebb_counter){
			.size = sizeof(struct pm_ebb_counter),
			.code = code_of(&plan->events[i].spec, &used),
			.period = plan->events[i].spec.period,
		};
	branches->opts = (struct pm_ebb_opts){
		.size = sizeof(branches->opts), .counters = branches->counters,
		.count = plan->count,
		.flags = plan->events[0].attr.exclude_kernel ? PM_EBB_USER_ONLY : 0,
		.callback = pm_ebb_note,
	};
}

/* -------------------------------------------------------------------------------------- threads */

static struct ebb_thread *add(struct branches *branches)
{
	struct ebb_thread **list = branches->list;

	if (branches->count == branches->room) {
		branches->room = branches->room ? 2 * branches->room : 16;
		list = realloc(list, branches->room * sizeof(*list));
		if (list == NULL)
			return NULL;
		branches->list = list;
	}
	list[branches->count] = calloc(1, sizeof(**list));
	return list[branches->count];
}

static int arm(pid_t tid, void *context)
{
	struct branches *branches = ((struct pm_session *)context)->own;
	struct ebb_thread *thread = add(branches);
	struct pm_ebb_opts *opts;
	int err;

	if (thread == NULL)
		return -ENOMEM;
	/* Each has its own context, and so its own options behind its samples. */
	opts = malloc(sizeof(*opts));
	if (opts == NULL) {
		free(thread);
		return -ENOMEM;
	}
	*opts = branches->opts;
	opts->context = thread;
	thread->opts = opts;
	thread->tid = tid;
	thread->wanted = true;
	err = pm_ebb_enlist(thread);
	thread->armed = err == 0;
	if (err == -ETIME)		/* it may obey later: its memory is not ours any more */
		return err;
	if (err < 0) {
		free(opts);
		free(thread);
		return err;
	}
	branches->count++;
	return 0;
}

static int arm_late(pid_t tid, void *context)
{
	struct pm_session *session = context;

	return pm_threads_late(&session->threads, &session->stats, tid, arm(tid, context));
}

static void release(struct branches *branches, struct ebb_thread *thread, bool ended)
{
	branches->gone += thread->dropped;
	pm_ebb_close_events(&thread->ebb);
	thread->wanted = false;
	/* A thread that does not answer may still be in its handler. */
	if (!ended && pm_ebb_enlist(thread) == -ETIME)
		return;
	free((void *)thread->opts);
	free(thread);
}

/* --------------------------------------------------------------------------------------- reader */

static uint64_t time_of(const struct branches *branches, uint64_t timebase, uint64_t now_timebase,
			uint64_t now_ns)
{
	const uint64_t ticks = now_timebase - branches->timebase;

	if (ticks == 0)
		return now_ns;
	return branches->ns + (uint64_t)((unsigned __int128)(timebase - branches->timebase) *
					 (now_ns - branches->ns) / ticks);
}

static void deliver(struct pm_session *session, const struct ebb_thread *thread,
		    const struct ebb_sample *sample, uint64_t time)
{
	const uint64_t period = session->plan->events[sample->counter].spec.period;
	const struct pm_observed observed = {
		.size = sizeof(observed), .event = sample->counter, .pid = (uint32_t)session->pid,
		.tid = (uint32_t)thread->tid, .cpu = UINT32_MAX, .time = time, .ip = sample->ip,
		.period = sample->periods * period,
	};

	session->stats.records++;
	session->stats.samples++;
	pm_proof_outside_rings(session, (uint32_t)observed.event, observed.period);
	if (session->listener.sample != NULL)
		session->listener.sample(session->context, &observed);
}

static int drain_thread(struct pm_session *session, struct ebb_thread *thread, uint64_t timebase,
			uint64_t ns)
{
	const uint64_t head = __atomic_load_n(&thread->head, __ATOMIC_ACQUIRE);
	int count = 0;

	for (uint64_t at = thread->tail; at != head; at++, count++) {
		const struct ebb_sample sample = thread->slots[at & (SLOTS - 1)];

		__atomic_store_n(&thread->tail, at + 1, __ATOMIC_RELEASE);
		deliver(session, thread, &sample,
			time_of(session->own, sample.timebase, timebase, ns));
	}
	return count;
}

static int drain(struct pm_session *session)
{
	struct branches *branches = session->own;
	const uint64_t timebase = READ_SPR(268);
	uint64_t ns = 0, dropped;
	int count = 0;

	(void)pm_clock_ns(CLOCK_MONOTONIC, &ns);
	dropped = branches->gone;
	for (size_t i = 0; i < branches->count; i++) {
		count += drain_thread(session, branches->list[i], timebase, ns);
		dropped += __atomic_load_n(&branches->list[i]->dropped, __ATOMIC_RELAXED);
	}
	session->stats.dropped = dropped;
	return count;
}

/* --------------------------------------------------------------------------------------- follow */

static bool has_ended(const struct pm_session *session, const struct ebb_thread *thread)
{
	return syscall(SYS_tgkill, session->pid, thread->tid, 0) != 0;
}

static void let_go_of_ended(struct pm_session *session)
{
	struct branches *branches = session->own;

	for (size_t i = 0; i < branches->count;) {
		struct ebb_thread *thread = branches->list[i];

		if (!has_ended(session, thread)) {
			i++;
			continue;
		}
		(void)drain(session);
		pm_threads_forget(&session->threads, thread->tid);
		branches->list[i] = branches->list[--branches->count];
		release(branches, thread, true);
	}
}

static const struct ebb_thread *evicted(const struct branches *branches)
{
	for (size_t i = 0; i < branches->count; i++)
		if (branches->list[i]->ebb.evicted ||
		    !pm_ebb_is_scheduled(&branches->list[i]->ebb))
			return branches->list[i];
	return NULL;
}

/* The emulator's own stalls are found in the thread that polls, and only there. */
static void look_at_self(const struct branches *branches)
{
	for (size_t i = 0; i < branches->count; i++)
		if (pm_ebb_state(&branches->list[i]->ebb) == PM_EBB_LOST)
			(void)pm_ebb_start(&branches->list[i]->ebb, NULL);
}

static void follow(struct pm_session *session)
{
	struct branches *branches = session->own;
	const bool follows = session->follows;
	const struct ebb_thread *thread;
	char why[160];
	bool due;

	session->follows = true;
	due = pm_follow_is_due(session);
	session->follows = follows;
	if (!due)
		return;
	look_at_self(branches);
	if (follows) {
		let_go_of_ended(session);
		(void)pm_threads_list(&session->threads, arm_late, session);
	}
	thread = evicted(branches);
	if (thread == NULL)
		return;
	snprintf(why, sizeof(why), "evicted while it ran: another pinned event has taken the PMU "
		 "from thread %d", (int)thread->tid);
	(void)session->calls->go_on(session, why);
}

/* ----------------------------------------------------------------------------------------- life */

static void undo(struct pm_session *session)
{
	struct branches *branches = session->own;

	if (branches == NULL)
		return;
	/* A forked child has none of the threads, and copies of the descriptors. */
	for (size_t i = 0; i < branches->count; i++)
		release(branches, branches->list[i], session->pid != getpid());
	if (session->pid != getpid())
		pm_ebb_of_thread = NULL;
	if (branches->enlisting)
		pm_ebb_enlist_end();
	session->own = NULL;
	free(branches->list);
	free(branches);
}

static int attach(struct pm_session *session, struct pm_diag *diag)
{
	struct branches *branches = calloc(1, sizeof(*branches));
	const bool all = pm_plan_watches_all(session->plan);
	struct pm_diag own = { .size = sizeof(own) };
	int err = branches ? 0 : -ENOMEM;

	session->own = branches;
	if (err == 0 && all) {
		err = pm_ebb_enlist_begin();
		branches->enlisting = err == 0;
	}
	if (err < 0)
		return pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "ebb: %s", err == -EBUSY ?
				   "SIGURG and SIGWINCH are in use, or another session is there" :
				   pm_errno_name(-err));
	describe_counters(session->plan, branches);
	branches->timebase = READ_SPR(268);
	(void)pm_clock_ns(CLOCK_MONOTONIC, &branches->ns);
	err = all ? pm_threads_list(&session->threads, arm, session) : arm(pm_gettid(), session);
	session->follows = all;
	session->followed_at = branches->ns;
	if (err >= 0 && branches->count == 0)
		err = -ESRCH;
	return err < 0 ? pm_diag_say(diag, -err, PM_CAUSE_UNKNOWN, "ebb: a thread could not arm "
				     "itself: %s", err == -EBUSY ? "another pinned event has the "
				     "PMU, or it uses branches already" : pm_errno_name(-err)) : 0;
}

/* The calling thread's first overflow, made to come soon. */
static int prove(struct pm_session *session, bool patient, char *reason, size_t size)
{
	const struct branches *branches = session->own;
	uint64_t now = 0, end = 0, looks = 0;
	struct ebb_thread *self = NULL;

	for (size_t i = 0; i < branches->count; i++)
		if (branches->list[i]->tid == pm_gettid())
			self = branches->list[i];
	if (self == NULL)
		return 0;
	for (unsigned int i = 0; i < branches->opts.count; i++)
		(void)pm_ebb_set_period(&self->ebb, i, PROOF_PERIOD);
	(void)pm_ebb_start(&self->ebb, NULL);
	(void)pm_clock_ns(CLOCK_MONOTONIC, &end);
	for (end += PROOF_NS * (patient ? 10 : 1); now < end && ++looks < LOOKS &&
	     self->head == self->tail;)
		(void)pm_clock_ns(CLOCK_MONOTONIC, &now);
	(void)pm_ebb_stop(&self->ebb);
	for (unsigned int i = 0; i < branches->opts.count; i++)
		(void)pm_ebb_set_period(&self->ebb, i, branches->counters[i].period);
	if (*(volatile uint64_t *)&self->head == self->tail) {
		snprintf(reason, size, "a counter that overflowed did not branch");
		return -EIO;
	}
	self->tail = self->head;
	return pm_ebb_start(&self->ebb, NULL);
}

static void cost(const struct pm_plan *plan, struct pm_cost *ret)
{
	pm_cost_hold(ret, pm_cost_targets(plan, ret->threads));
}

static const struct operations operations = {
	.attach = attach,
	.follow = follow,
	.drain = drain,
	.quiet_ms = 100,
	.prove = prove,
	.undo = undo,
};

extern const struct strategy pm_strategy_ebb;
const struct strategy pm_strategy_ebb = {
	.name = "ebb",
	.what = "event-based branches: each thread samples itself, without the kernel",
	.able = FOR_SELF | CAN_SAMPLE,
	.needs = pm_needs_nothing,
	.fits = fits,
	.cost = cost,
	.operations = &operations,
};

#endif
