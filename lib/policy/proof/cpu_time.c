/* SPDX-License-Identifier: MIT */
/*
 * How much of the observed CPU time its samples stand for. What a thread used after its last sample
 * has none, and a thread that ends before its first sample leaves no trace at all.
 */
#include "proof.h"

static bool is_sampled_time(const struct pm_session *session, size_t i)
{
	const struct plan_event *event = &session->plan->events[i];

	/* A timer stands in for cycles, too. */
	if (!pm_plan_is_sampled(event))
		return false;
	return !(session->strategy->able & (USES_PERF | USES_RINGS)) ||
		(event->attr.type == PERF_TYPE_SOFTWARE &&
		 event->attr.config <= PERF_COUNT_SW_TASK_CLOCK);
}

/* SIZE_MAX: there is none. */
static size_t choose(const struct pm_session *session)
{
	for (size_t i = 0; i < session->plan->count; i++)
		if (is_sampled_time(session, i))
			return i;
	return SIZE_MAX;
}

void pm_cpu_time_begin(struct pm_session *session)
{
	struct cpu_time *time = &session->proof->cpu_time;
	int tid;

	*time = (struct cpu_time){ .event = choose(session) };
	if (time->event == SIZE_MAX)
		return;
	tid = session->plan->events[time->event].spec.tid;
	if (tid < PM_ALL_THREADS)	/* no clock tells what others used of a CPU */
		return;
	time->clock = tid == PM_ALL_THREADS ? CLOCK_PROCESS_CPUTIME_ID :
		pm_thread_clock(tid ? tid : session->self);
	time->known = pm_clock_ns(time->clock, &time->begin) == 0;
}

uint64_t pm_cpu_time_used(const struct pm_session *session)
{
	const struct cpu_time *time = &session->proof->cpu_time;
	uint64_t now;

	if (!time->known || !session->attached || session->pid != getpid())
		return time->used;
	return pm_clock_ns(time->clock, &now) == 0 ? now - time->begin : 0;
}
