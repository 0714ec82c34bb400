/* SPDX-License-Identifier: MIT */
/*
 * Strategy counters_per_cpu: for each thread and CPU a counter, so that the kernel itself tells on
 * which CPU a thread did what. Asking where a thread is after reading its one counter is a guess
 * that a migration makes wrong.
 */
#include "../plan/cost.h"
#include "../plan/attrs.h"
#include "../proof/canary.h"
#include "../engine/on_cpus.h"

static void cost(const struct pm_plan *plan, struct pm_cost *ret)
{
	pm_cost_hold(ret, pm_cost_targets(plan, ret->threads) * ret->cpus);
}

/* Closes those of threads that were not in the first listing. */
static void drop_later(struct event_list *events, size_t first)
{
	for (size_t i = first; i < events->count; i++) {
		struct session_event *event = &events->list[i];

		if (event->round == 0)
			continue;
		close(event->fd);
		event->fd = -1;
	}
	pm_events_forget_closed(events);
}

static uint64_t count_later(const struct threads *threads)
{
	uint64_t late = 0;

	for (size_t i = 0; i < threads->room; i++)
		late += threads->marks[i].listed && threads->marks[i].round > 0;
	return late;
}

/*
 * As with counters of any CPU, counts by an inherited counter and by one of the thread itself
 * cannot be told apart. Threads of later listings are taken to have inherited, and are counted as
 * late.
 */
static int attach_cpus(struct pm_session *session, struct pm_cpus *cpus, struct pm_diag *diag)
{
	const size_t first = session->events.count;
	int err = pm_on_cpus_open(session, cpus, NULL, diag);

	if (err < 0)
		return err;
	if (session->threads.rounds > 1) {
		drop_later(&session->events, first);
		session->stats.late_threads += count_later(&session->threads);
	}
	return pm_events_enable(&session->events, diag);
}

static int attach(struct pm_session *session, struct pm_diag *diag)
{
	pm_plan_as_counters(session->plan);
	return pm_on_cpus_attach(session, diag);
}

static const struct operations operations = {
	.attach = attach,
	.attach_cpus = attach_cpus,
	.prove = pm_canary_inherits,
};

#define NEEDS(X) \
	X("perm.available.opens", true) \
	X("attach.thread.thread_id_is_that_thread", false) \
	X("attach.self.one_cpu", false) \
	X("attach.self.back_on_cpu", false) \
	X("inherit.follow.thread.counts_alive", false) \
	X("inherit.follow.thread.counts_after_exit", false)
PM_NEEDS(counters_per_cpu, NEEDS);

const struct strategy pm_strategy_counters_per_cpu = {
	.name = "counters_per_cpu",
	.what = "inheriting counters of each thread on each CPU, read(2)",
	.able = FOR_SELF | USES_PERF | CAN_COUNT | BY_CPU | INHERITS | GIVES_SUMS,
	.needs = needs_counters_per_cpu,
	.proof = "attach.self.one_cpu",
	.cost = cost,
	.operations = &operations,
};
