/* SPDX-License-Identifier: MIT */
/*
 * Software events, tracepoints and breakpoints are never multiplexed, and with PERF_SAMPLE_PERIOD
 * the kernel samples each occurrence (5d81e5cfb37a, v3.3): the periods of the samples are the
 * count. Where they are less although no loss was told, some event writes to no ring.
 *
 * What happened between the opening of an event and its ring was counted and is not missing: so
 * the first look only notes.
 */
#include "account.h"

#include "session.h"

#define IN_RINGS 262144		/* samples that had not been drained at the first look */

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
			session->account.incomplete |= 1u << i;
}

void pm_account_look(struct pm_session *session)
{
	struct account *account = &session->account;
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
		    attr->freq == 0 && session->account.largest[i] > 1 &&
		    session->account.largest[i] > attr->sample_period)
			return (int)i;
	}
	return -1;
}

/* Something is missing, and has been told. */
static bool is_told(const struct pm_stats *stats)
{
	return stats->lost + stats->lost_samples + stats->corrupt + stats->unknown +
		stats->throttled > 0;
}

void pm_account_judge(struct pm_session *session)
{
	struct account *account = &session->account;
	const bool rings = session->rings.count > 0 && !is_told(&session->stats);

	if (!account->looked)
		return;
	if (rings && pm_account_misnamed(session) >= 0)
		account->incomplete |= 1u << pm_account_misnamed(session);
	for (size_t i = 0; rings && i < session->plan->count; i++) {
		const struct plan_event *event = &session->plan->events[i];
		const uint64_t sampled = account->sampled[i] - account->base[i].sampled;
		const uint64_t counted = account->counted[i] - account->base[i].counted;

		if (!pm_plan_is_sampled(event) || event->attr.freq != 0 || !is_exact(event))
			continue;
		/* Far more, beyond what was in the rings at the first look, is another's. */
		if (sampled < counted || sampled / 4 > counted + IN_RINGS)
			account->incomplete |= 1u << i;
	}
	session->stats.incomplete_events = (uint64_t)__builtin_popcount(account->incomplete);
}
