/* SPDX-License-Identifier: MIT */
/* Strategy counters: an inheriting counter for each thread, without rings. */
#include "../plan/cost.h"
#include "../plan/attrs.h"
#include "../proof/canary.h"
#include "../engine/on_cpus.h"
#include "shared.h"

struct opening {
	struct pm_session *session;
	uint32_t failed;		/* spec */
};

void pm_cost_counters(const struct pm_plan *plan, struct pm_cost *ret)
{
	pm_cost_hold(ret, pm_cost_targets(plan, ret->threads));
}

/* The counters of all threads on one of them, or those of single threads. */
static int open_counters(struct opening *opening, bool all, pid_t tid)
{
	struct event_list *events = &opening->session->events;

	for (uint32_t spec = 0; spec < events->plan->count; spec++) {
		const int target = events->plan->events[spec].spec.tid;
		struct session_event wanted = {
			.spec = spec, .tid = all ? tid : target, .cpu = -1,
			.round = opening->session->threads.rounds,
		};
		int at;

		if ((target == PM_ALL_THREADS) != all)
			continue;
		opening->failed = spec;
		at = pm_events_open(events, &wanted, all);
		if (at < 0)
			return at;
	}
	return 0;
}

static int open_for_thread(pid_t tid, void *context)
{
	return open_counters(context, true, tid);
}

static int open_once(struct opening *opening)
{
	struct threads *threads = &opening->session->threads;
	int err = open_counters(opening, false, 0);

	if (err < 0 || !pm_plan_watches_all(opening->session->plan))
		return err;
	err = pm_threads_list(threads, open_for_thread, opening);
	return err < 0 ? err : pm_threads_list(threads, NULL, NULL);
}

/*
 * Counts by an inherited counter and by one of the thread itself cannot be told apart. So no thread
 * may come while counters are opened; otherwise everything is undone and opened again. After the
 * last attempt new threads are taken to have inherited, and are counted as late.
 */
static int open_clean(struct opening *opening)
{
	struct pm_session *session = opening->session;
	int fresh = 0;

	for (unsigned int i = 0; i < session->plan->opts.rounds; i++) {
		pm_on_cpus_undo(session, 0, 0);
		fresh = open_once(opening);
		if (fresh <= 0)
			return fresh;
	}
	session->stats.late_threads = (uint64_t)fresh;
	return 0;
}

static int attach(struct pm_session *session, struct pm_diag *diag)
{
	struct opening opening = { .session = session };
	int err;

	pm_plan_as_counters(session->plan);
	err = open_clean(&opening);
	return err < 0 ? pm_events_refused(&session->events, opening.failed, -1, err, diag) :
		pm_events_enable(&session->events, diag);
}

const struct operations pm_operations_counters = {
	.attach = attach,
	.prove = pm_canary_inherits,
};

#define NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("inherit.follow.thread.counts_alive", false) \
	X("inherit.follow.thread.counts_after_exit", false) \
	X("strategy.any_cpu.inherit_any_cpu_count", false)
PM_NEEDS(counters, NEEDS);

const struct strategy pm_strategy_counters = {
	.name = "counters",
	.what = "inheriting counters, read(2)",
	.able = FOR_SELF | USES_PERF | CAN_COUNT | INHERITS | GIVES_SUMS,
	.needs = needs_counters,
	.proof = "strategy.any_cpu.inherit_any_cpu_count",
	.cost = pm_cost_counters,
	.operations = &pm_operations_counters,
};
