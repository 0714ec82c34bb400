/* SPDX-License-Identifier: MIT */
/*
 * Software events, tracepoints and breakpoints are never multiplexed: with a period of 1 the
 * periods of the samples are the count, and with another one as much is missing as has not made up
 * a period yet, in each thread on each CPU. Where it is more although no loss was told, some event
 * writes to no ring.
 *
 * What happened between the opening of an event and its ring was counted and is not missing: so
 * the first look only notes.
 *
 * And what has been sampled has been counted before: where the periods are more, some count stands
 * still or is told wrongly, or samples are.
 */
#include "account.h"

#include <string.h>
#include <unistd.h>

#include "../plan/attrs.h"
#include "../engine/layout.h"
#include "proof.h"

#define READINGS 3		/* of counts that are less than the samples, or of times */
#define BETWEEN_NS 1000000	/* one time of an event is read after the other */

static bool is_exact(const struct plan_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	switch (attr->type) {
	case PERF_TYPE_SOFTWARE:	/* a clock's timer may be late; BPF writes what it likes */
		return attr->config > PERF_COUNT_SW_TASK_CLOCK &&
			attr->config != PERF_COUNT_SW_BPF_OUTPUT;
	case PERF_TYPE_TRACEPOINT:
	case PERF_TYPE_BREAKPOINT:
		return true;
	}
	return false;
}

static bool is_judged(const struct plan_event *event)
{
	return pm_plan_is_sampled(event) && event->attr.freq == 0 && is_exact(event);
}

static bool is_asked(const struct pm_session *session)
{
	for (size_t i = 0; i < session->plan->count; i++)
		if (is_exact(&session->plan->events[i]))
			return true;
	return false;
}

/* Where events are of any CPU, these run whenever they are enabled. */
static void look_for_idle(struct pm_session *session, const struct pm_value *values)
{
	for (size_t i = 0; i < session->events.count; i++)
		if (session->events.list[i].cpu >= 0)
			return;
	for (size_t i = 0; i < session->plan->count; i++)
		if (is_exact(&session->plan->events[i]) &&
		    values[i].running < values[i].enabled - values[i].enabled / 16)
			session->proof->account.incomplete |= 1u << i;
}

/* ----------------------------------------------------------------------------------- witnesses */

void pm_account_call_witnesses(struct pm_session *session)
{
	const struct pm_plan *plan = session->plan;

	for (size_t i = 0; i < plan->count; i++) {
		struct perf_event_attr attr = plan->events[i].attr;
		const pid_t tid = plan->events[i].spec.tid;
		int fd;

		/* A breakpoint would take one of a few registers. */
		if (!is_judged(&plan->events[i]) || attr.type == PERF_TYPE_BREAKPOINT ||
		    plan->events[i].filter[0] != '\0' ||
		    session->proof->account.witness[i] != 0 ||
		    (tid != PM_ALL_THREADS && tid != 0 && tid != session->self))
			continue;
		pm_plan_no_side(&attr);
		attr.sample_type = attr.read_format = attr.sample_period = 0;
		attr.sample_id_all = attr.disabled = attr.watermark = 0;
		attr.wakeup_events = 0;
		pm_plan_set_inherit(plan, &attr, tid == PM_ALL_THREADS);
		fd = pm_open(&attr, 0, -1, -1, 0);
		session->proof->account.witness[i] = fd < 0 ? 0 : fd + 1;
	}
}

void pm_account_free(struct account *account)
{
	for (size_t i = 0; i < PLAN_EVENTS_MAX; i++) {
		if (account->witness[i] > 0)
			close(account->witness[i] - 1);
		account->witness[i] = 0;
	}
}

static void hear_witnesses(const struct account *account, struct pm_value *values)
{
	for (size_t i = 0; i < PLAN_EVENTS_MAX; i++) {
		uint64_t count;

		if (account->witness[i] > 0 && read(account->witness[i] - 1, &count,
						    sizeof(count)) == sizeof(count))
			values[i].value = count;
	}
}

/* -------------------------------------------------------------------------------------- looking */

void pm_account_look(struct pm_session *session)
{
	struct account *account = &session->proof->account;
	struct pm_value values[PLAN_EVENTS_MAX];

	if (!is_asked(session))
		return;
	if (pm_sums_read(&session->sums, &session->events, values) < 0) {
		/* A CPU's are not readable while it is away; others are no events. */
		account->incomplete |= !(session->strategy->able & OWNED_BY_CPU);
		account->looked = true;
		return;
	}
	look_for_idle(session, values);
	hear_witnesses(account, values);
	for (size_t i = 0; i < session->plan->count; i++) {
		account->counted[i] = values[i].value;
		if (account->looked)
			continue;
		account->base[i].counted = values[i].value;
		account->base[i].sampled = account->sampled[i];
	}
	account->looked = true;
}

/*
 * Each occurrence of these is one, and its sample stands for it, or for the period on kernels that
 * do not sample each.
 */
int pm_account_misnamed(const struct pm_session *session)
{
	for (size_t i = 0; i < session->plan->count; i++) {
		const struct perf_event_attr *attr = &session->plan->events[i].attr;

		if (is_exact(&session->plan->events[i]) && attr->type != PERF_TYPE_TRACEPOINT &&
		    attr->freq == 0 && session->proof->account.largest[i] > 1 &&
		    session->proof->account.largest[i] > attr->sample_period)
			return (int)i;
	}
	return -1;
}

/* ------------------------------------------------------------------------------------- judging */

/* Something is missing, and has been told. */
static bool is_told(const struct pm_stats *stats)
{
	return stats->lost + stats->lost_samples + stats->corrupt + stats->unknown +
		stats->throttled > 0;
}

uint64_t pm_account_rest(const struct pm_session *session, size_t spec)
{
	const struct event_list *events = &session->events;
	const uint64_t period = session->plan->events[spec].attr.sample_period;
	uint64_t copies = 0, of_first = 0;

	if (period <= 1 || session->plan->events[spec].attr.freq)
		return 0;
	for (size_t i = 0; i < events->count; i++) {
		copies += events->list[i].spec == spec;
		of_first += events->list[i].spec == spec &&
			events->list[i].tid == events->list[0].tid;
	}
	copies += session->proof->account.created * of_first;
	return copies > UINT64_MAX / period ? UINT64_MAX : copies * (period - 1);
}

/* Counted before the last drain, and not sampled by now. */
static void look_for_missing(struct pm_session *session)
{
	struct account *account = &session->proof->account;

	for (size_t i = 0; i < session->plan->count; i++) {
		const uint64_t sampled = account->sampled[i] - account->base[i].sampled;
		const uint64_t counted = account->counted[i] - account->base[i].counted;

		if (is_judged(&session->plan->events[i]) && sampled < counted &&
		    counted - sampled > pm_account_rest(session, i))
			account->incomplete |= 1u << i;
	}
}

/* What has been sampled since the attach, less all that may have been counted before. */
static uint64_t sampled_at_least(const struct pm_session *session, size_t spec)
{
	const struct account *account = &session->proof->account;
	const size_t smallest = sizeof(struct perf_event_header) +
		8 * (size_t)words_of(session->format.sample_type & ~(uint64_t)PERF_SAMPLE_PERIOD);
	const uint64_t period = account->largest[spec] ? account->largest[spec] : 1;
	const uint64_t sampled = account->sampled[spec] - account->before[spec];
	const uint64_t old = account->pending / smallest;

	return old < sampled / period ? sampled - old * period : 0;
}

/* Those of the events whose samples are more than they have counted. */
static uint32_t in_excess(const struct pm_session *session)
{
	struct pm_value values[PLAN_EVENTS_MAX];
	bool read = false;
	uint32_t found = 0;

	for (size_t i = 0; i < session->plan->count; i++) {
		const uint64_t sampled = sampled_at_least(session, i);

		if (!is_judged(&session->plan->events[i]) || sampled == 0)
			continue;
		if (!read && pm_sums_read(&session->sums, &session->events, values) < 0)
			return 0;
		read = true;
		if (sampled > values[i].value &&
		    sampled - values[i].value > pm_account_rest(session, i))
			found |= 1u << i;
	}
	return found;
}

/* Events that are closed, or went with a CPU, have taken their counts with them. */
static void look_for_excess(struct pm_session *session)
{
	uint32_t found = ~(uint32_t)0;

	if (!(session->strategy->able & GIVES_SUMS) || session->stats.late_cpus > 0)
		return;
	for (int i = 0; found != 0 && i < READINGS; i++)
		found &= in_excess(session);
	session->proof->account.incomplete |= found;
}

static uint32_t run_too_long(const struct pm_session *session, const struct pm_value *values)
{
	uint32_t found = 0;

	for (size_t i = 0; i < session->plan->count; i++)
		if (values[i].running > values[i].enabled + values[i].enabled / 64 + BETWEEN_NS)
			found |= 1u << i;
	return found;
}

void pm_account_times(struct pm_session *session, const struct pm_value *values)
{
	uint32_t found = run_too_long(session, values);
	struct pm_value again[PLAN_EVENTS_MAX];

	for (int i = 1; found != 0 && i < READINGS; i++) {
		if (pm_sums_read(&session->sums, &session->events, again) < 0)
			return;
		found &= run_too_long(session, again);
	}
	session->proof->account.incomplete |= found;
	session->stats.incomplete_events =
		(uint64_t)__builtin_popcount(session->proof->account.incomplete);
}

void pm_account_begin(struct pm_session *session)
{
	struct account *account = &session->proof->account;

	if (session->rings.count == 0)
		(void)session->calls->drain(session);
	memcpy(account->before, account->sampled, sizeof(account->before));
	account->pending = 0;
	for (size_t i = 0; i < session->rings.count; i++)
		if (session->rings.list[i].ring.base != NULL)
			account->pending += pm_ring_pending(&session->rings.list[i].ring);
	/* Forwarding could not be proven, and reading counts takes less than asking the broker. */
	if (session->plan->via_broker)
		pm_account_look(session);
}

void pm_account_judge(struct pm_session *session)
{
	struct account *account = &session->proof->account;

	/* Signals that came for a thread that has ended are not told. */
	if (account->looked && session->rings.count > 0 && !is_told(&session->stats)) {
		if (pm_account_misnamed(session) >= 0)
			account->incomplete |= 1u << pm_account_misnamed(session);
		look_for_missing(session);
	}
	look_for_excess(session);
	session->stats.incomplete_events = (uint64_t)__builtin_popcount(account->incomplete);
}
