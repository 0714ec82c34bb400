/* SPDX-License-Identifier: MIT */
/*
 * Strategy signals: where rings cannot be mapped, an event sends its thread a signal for each
 * sample (F_SETSIG, F_SETOWN_EX), and the handler notes where the thread was. Nothing is inherited,
 * because the copies would signal the thread that they were copied from.
 *
 * The signal is one that is ignored by default. An event outlives the handler by a moment when the
 * thread calls exec(2), which resets handlers first and closes descriptors later, and by as long as
 * a forked child holds a copy; a real-time signal, or the SIGIO that the kernel sends where the
 * queue of those is full, would end the new program. But of such a signal one is pending at a time:
 * samples that come together are one, and the counter tells how many they were.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../engine/on_cpus.h"
#include "../engine/wait.h"
#include "../profile/facts.h"
#include "../proof/canary.h"
#include "shared.h"
#include "signal_ring.h"

#ifndef F_SETSIG
#define F_SETSIG 10
#endif
#ifndef F_SETOWN_EX
#define F_SETOWN_EX 15
#define F_OWNER_TID 0
struct f_owner_ex {
	int type;
	pid_t pid;
};
#endif

#define DESCRIPTORS 65536	/* that the table below can tell apart */

struct signals {
	struct signal_ring ring;
	bool refresh;			/* one at a time, so that handlers are not sampled */
	uint32_t *by_fd;		/* event index + 1; atomic */
	uint64_t *counted;		/* by descriptor, at the last sample that was delivered */
	int64_t merged;			/* samples that came with another, less those told twice */
};

static struct signals *signals_of(const struct pm_session *session)
{
	return session->own;
}

/* ------------------------------------------------------------------------------------- handlers */

/* Of events that somebody else has the same signal for nothing is read. */
static bool is_ours(const struct signals *signals, int fd)
{
	return fd >= 0 && fd < DESCRIPTORS &&
		__atomic_load_n(&signals->by_fd[fd], __ATOMIC_RELAXED) != 0;
}

/* Only the counter tells how many samples came together, or what period the kernel has chosen. */
static uint64_t count_of(int fd)
{
	uint64_t words[8];		/* the count, and what the format adds */

	return read(fd, words, sizeof(words)) < (ssize_t)sizeof(*words) ? 0 : words[0];
}

static bool accept_sample(struct signal_ring *ring, const siginfo_t *info,
			  struct signal_sample *ret)
{
	struct signals *signals = (struct signals *)ring;

	if ((info->si_code != POLL_IN && info->si_code != POLL_HUP) ||
	    !is_ours(signals, info->si_fd))
		return false;
	if (signals->refresh)
		(void)pm_ioctl(info->si_fd, PERF_EVENT_IOC_REFRESH, 1);
	ret->source = info->si_fd;
	ret->weight = count_of(info->si_fd);
	return true;
}

/* --------------------------------------------------------------------------------------- reader */

/*
 * What the sample stands for. Of a clock, and where the kernel chooses the period, the counter
 * tells; elsewhere it tells how many came together: none where the last handler has caused this one
 * and counted it. What came before the attach was done is not to be told any more.
 */
static uint64_t period_of(const struct pm_session *session, const struct session_event *event,
			  uint64_t count)
{
	struct signals *signals = signals_of(session);
	const struct plan_event *planned = &session->plan->events[event->spec];
	const uint64_t period = planned->attr.freq ? 0 : planned->attr.sample_period;
	uint64_t *last = &signals->counted[event->fd], more;

	if (*last < event->base.value && event->base.value < count)
		*last = event->base.value;
	if (count < *last || count == 0)		/* not known */
		return period;
	more = count - *last;
	if (period == 0 || pm_is_clock(&planned->attr)) {
		*last = count;
		return more;
	}
	signals->merged += (int64_t)(more / period) - 1;
	*last += more - more % period;
	return period;
}

static bool describe(struct pm_session *session, const struct signal_sample *sample,
		     struct pm_observed *ret)
{
	const struct signals *signals = signals_of(session);
	const struct session_event *event;
	uint32_t at = 0;

	if (sample->source >= 0 && sample->source < DESCRIPTORS)
		at = signals->by_fd[sample->source];
	if (at == 0) {
		session->stats.unknown++;
		return false;
	}
	event = &session->events.list[at - 1];
	ret->event = event->spec;
	ret->period = period_of(session, event, sample->weight);
	return true;
}

/* ------------------------------------------------------------------------------------ attaching */

static int aim(const struct signals *signals, int fd, pid_t tid)
{
	const struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = tid };
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETSIG, signals->ring.number) != 0 ||
	    fcntl(fd, F_SETOWN_EX, &owner) != 0 || fcntl(fd, F_SETFL, flags | O_ASYNC) != 0)
		return -errno;
	return 0;
}

static void set_place(struct signals *signals, int fd, uint32_t place)
{
	if (fd < DESCRIPTORS)
		__atomic_store_n(&signals->by_fd[fd], place, __ATOMIC_RELAXED);
}

/* An event was opened: it sends its signals from here on. */
static int take_opened(struct pm_session *session, struct session_event *event,
		       struct pm_diag *diag)
{
	struct signals *signals = signals_of(session);
	int err = event->fd < DESCRIPTORS ? 0 : -EMFILE;

	if (err == 0) {
		signals->counted[event->fd] = 0;
		set_place(signals, event->fd, (uint32_t)(event - session->events.list) + 1);
		err = aim(signals, event->fd, event->tid);
	}
	if (err == 0)
		err = pm_ioctl(event->fd, signals->refresh ? PERF_EVENT_IOC_REFRESH :
			       PERF_EVENT_IOC_ENABLE, signals->refresh);
	return err < 0 && diag != NULL ?
		pm_events_refused(&session->events, event->spec, -1, err, diag) : err;
}

/* --------------------------------------------------------------------------------------- follow */

static int open_late(pid_t tid, void *context)
{
	struct pm_session *session = context;
	const size_t before = session->events.count;
	int err = pm_on_cpus_open_late(session, tid, take_opened);

	for (size_t i = before; err < 0 && i < session->events.count; i++)
		set_place(signals_of(session), session->events.list[i].fd, 0);
	if (err < 0)
		pm_events_close_since(&session->events, before);
	return pm_threads_late(&session->threads, &session->stats, tid, err);
}

static void let_go(struct pm_session *session, struct session_event *event)
{
	pm_proof_ended(session, event->tid);
	set_place(signals_of(session), event->fd, 0);
	pm_sums_close(&session->sums, &session->events, event, NULL);
	pm_threads_forget(&session->threads, event->tid);
}

/* Signals of those that are gone have been delivered; the others' find new places. */
static void forget_ended(struct pm_session *session)
{
	pm_events_forget_closed(&session->events);
	for (size_t i = 0; i < session->events.count; i++)
		set_place(signals_of(session), session->events.list[i].fd, (uint32_t)i + 1);
}

static int drain(struct pm_session *session)
{
	const int count = pm_signal_ring_drain(session);
	const int64_t merged = signals_of(session)->merged;

	session->stats.dropped += merged > 0 ? (uint64_t)merged : 0;
	return count;
}

static bool has_ended(const struct pm_session *session, const struct session_event *event)
{
	return syscall(SYS_tgkill, session->pid, event->tid, 0) != 0 &&
		session->plan->events[event->spec].spec.tid == PM_ALL_THREADS;
}

static void follow(struct pm_session *session)
{
	if (!pm_follow_is_due(session))
		return;
	/* Signals that were under way when their thread ended have been noted by now. */
	(void)drain(session);
	for (size_t i = 0; i < session->events.count; i++) {
		struct session_event *event = &session->events.list[i];

		if (event->fd >= 0 && has_ended(session, event))
			let_go(session, event);
	}
	forget_ended(session);
	(void)pm_threads_list(&session->threads, open_late, session);
}

/* ----------------------------------------------------------------------------------------- life */

/* A signal that nobody uses and whose default is to be ignored. */
static int install(struct signals *signals)
{
	static const int numbers[] = { SIGURG, SIGWINCH };
	int err = -EBUSY;

	for (size_t i = 0; err == -EBUSY && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		err = pm_signal_ring_install(&signals->ring, numbers[i]);
	return err;
}

static void destroy(struct signals *signals)
{
	if (signals == NULL)
		return;
	free(signals->by_fd);
	free(signals->counted);
	free(signals);
}

static void undo(struct pm_session *session)
{
	struct signals *signals = signals_of(session);

	if (signals == NULL)
		return;
	/* A forked child shares the events: switched off there, they would be off here as well. */
	for (size_t i = 0; session->pid == getpid() && i < session->events.count; i++) {
		int fd = session->events.list[i].fd;

		if (fd < 0)
			continue;
		(void)pm_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		(void)fcntl(fd, F_SETFL, 0);
		/*
		 * An interrupt may still have a signal to send, and would send it to a program that
		 * no longer handles it; closing waits for that (irq_work_sync in _free_event).
		 */
		close(fd);
		session->events.list[i].fd = -1;
	}
	pm_signal_ring_remove(session);
	destroy(signals);
}

PM_FACT(refresh_is_exact, "signal.refresh.limit_is_exact");

/*
 * REFRESH stops an event at each sample until the handler asks for the next, so that the handler
 * is not sampled itself. What happens in between is lost, with clocks it has hung kernels, and a
 * breakpoint that it stopped never hits again (seen on 6.18): only for hardware counters, which
 * could flood us, and only where it is known to work. And only one, because the signal of a second
 * may be lost to that of the first, and with it all that come after.
 */
static bool may_refresh(const struct pm_plan *plan)
{
	struct pm_fact fact = { .size = sizeof(fact) };

	if (plan->count != 1 || !pm_is_hardware(plan->events[0].attr.type))
		return false;
	return pm_profile_lookup(plan->profile, refresh_is_exact, &fact) == 0 &&
		fact.verdict == PM_YES && fact.rank >= PM_RANK_RELEASE;
}

static struct signals *make(const struct pm_session *session)
{
	struct signals *signals = pm_signal_ring_create(sizeof(*signals), session);

	if (signals == NULL)
		return NULL;
	signals->by_fd = calloc(DESCRIPTORS, sizeof(*signals->by_fd));
	signals->counted = calloc(DESCRIPTORS, sizeof(*signals->counted));
	if (signals->by_fd == NULL || signals->counted == NULL) {
		destroy(signals);
		return NULL;
	}
	signals->refresh = may_refresh(session->plan);
	return signals;
}

static int attach(struct pm_session *session, struct pm_diag *diag)
{
	struct signals *signals = make(session);
	int err = signals ? install(signals) : -ENOMEM;

	if (err < 0) {
		destroy(signals);
		return pm_signal_ring_refused(diag, "signals", "SIGURG and SIGWINCH are in use, "
					      "or another session takes samples by signals", err);
	}
	session->own = signals;
	err = pm_on_cpus_open_plain(session, take_opened, diag);
	if (err == 0 && session->events.count == 0)
		err = pm_events_refused(&session->events, 0, -1, -ESRCH, diag);
	pm_follow_begin(session, pm_plan_watches_all(session->plan));
	return err;
}

static const struct operations operations = {
	.attach = attach,
	.follow = follow,
	.drain = drain,
	.prove = pm_canary_self,
	.undo = undo,
	.accept = accept_sample,
	.describe = describe,
};

static int fits(const struct pm_plan *plan, struct candidate *candidate)
{
	if (!(plan->opts.allow & PM_ALLOW_SIGNALS))
		return pm_rule_out(candidate, EINVAL, "signals are not allowed");
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.want & (PM_WANT_ADDRESS | PM_WANT_RAW))
			return pm_rule_out(candidate, EINVAL, "a signal tells no address or raw "
					   "data of event %zu", i);
	return 0;
}

#define NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("signal.delivery.without_ring.each_sample", false) \
	X("signal.delivery.without_ring.tells_descriptor", false) \
	X("signal.delivery.without_ring.none_after_disable", false) \
	X("signal.recipient.owner_is_a_thread", false)
PM_NEEDS(signals, NEEDS);

const struct strategy pm_strategy_signals = {
	.name = "signals",
	.what = "a signal for each sample, no rings; threads that end before they are noticed are "
		"missing and not told",
	.able = FOR_SELF | USES_PERF | CAN_SAMPLE | GIVES_SUMS,
	.needs = needs_signals,
	.proof = "signal.delivery.without_ring.each_sample",
	.fits = fits,
	.cost = pm_cost_counters,
	.operations = &operations,
};
