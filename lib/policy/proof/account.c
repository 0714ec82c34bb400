/* SPDX-License-Identifier: MIT */
/*
 * Software events, tracepoints and breakpoints are never multiplexed: with a period of 1 the
 * periods of the samples are the count, and with another one as much is missing as has not made up
 * a period yet, in each thread on each CPU. Where it is more although no loss was told, some event
 * writes to no ring: a filter answers in place of the ioctl(2) that forwards, which the canary does
 * not try where a broker opens the events.
 *
 * What happened between the opening of an event and its ring was counted and is not missing: so
 * the first look only notes.
 */
#include "account.h"

#include "proof.h"

#define READINGS 3		/* of times that make no sense */
#define BETWEEN_NS 1000000	/* one time of an event is read after the other */

static bool is_exact(const struct plan_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	/* A clock's timer may be late, and BPF writes what it likes. */
	return pm_takes_no_turns(attr->type) && !pm_is_clock(attr) &&
		(attr->type != PERF_TYPE_SOFTWARE || attr->config != PERF_COUNT_SW_BPF_OUTPUT);
}

static bool is_judged(const struct plan_event *event)
{
	return event->sampled && event->attr.freq == 0 && is_exact(event);
}

static bool is_asked(const struct pm_session *session)
{
	for (size_t i = 0; i < session->plan->count; i++)
		if (is_exact(&session->plan->events[i]))
			return true;
	return false;
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
	for (size_t i = 0; i < session->plan->count; i++) {
		account->counted[i] = values[i].value;
		if (account->looked)
			continue;
		account->base[i].counted = values[i].value;
		account->base[i].sampled = account->sampled[i];
	}
	account->looked = true;
}

/* ------------------------------------------------------------------------------------- judging */

/* Something is missing, and has been told. */
static bool is_told(const struct pm_stats *stats)
{
	return stats->lost + stats->lost_samples + stats->corrupt + stats->unknown +
		stats->throttled > 0;
}

/* How much an event may have counted that has not made up a period: in each copy of it some. */
static uint64_t rest_of(const struct pm_session *session, size_t spec)
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
		    counted - sampled > rest_of(session, i))
			account->incomplete |= 1u << i;
	}
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

void pm_account_judge(struct pm_session *session)
{
	struct account *account = &session->proof->account;

	/* Signals that came for a thread that has ended are not told. */
	if (account->looked && session->rings.count > 0 && !is_told(&session->stats)) {
		look_for_missing(session);
	}
	session->stats.incomplete_events = (uint64_t)__builtin_popcount(account->incomplete);
}
