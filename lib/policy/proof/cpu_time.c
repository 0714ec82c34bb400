/* SPDX-License-Identifier: MIT */
/*
 * How much of the observed CPU time its samples stand for. What a thread used after its last sample
 * has none, and a thread that ends before its first sample leaves no trace at all.
 */
#include "proof.h"

/* The first event that samples time; a timer stands in for cycles, too. SIZE_MAX: there is none. */
static size_t choose(const struct pm_session *session)
{
	const bool by_timer = !(session->strategy->able & (USES_PERF | USES_RINGS));

	for (size_t i = 0; i < session->plan->count; i++) {
		const struct plan_event *event = &session->plan->events[i];

		if (event->sampled && (by_timer || pm_is_clock(&event->attr)))
			return i;
	}
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
