/* SPDX-License-Identifier: MIT */
/* Reading what a session has counted, of events and of its own work. */
#include <string.h>

#include "../engine/late_cpus.h"
#include "../proof/proof.h"

/* Threads of a later listing have events of their own and may have inherited others beside. */
static bool counts_twice(const struct pm_session *session)
{
	bool later = session->threads.rounds > 1;

	for (size_t i = 0; i < session->cpus.count; i++)
		later |= session->cpus.list[i].threads.rounds > 1;
	/* Counters alone were opened until there was none. */
	return later && session->rings.count > 0;
}

/* Whether the strategy has counters that hold what was asked for, and nothing else. */
static bool has_sums(const struct pm_plan *plan, unsigned int able)
{
	/* A CPU's counter holds what everybody did there, an inherited one what processes did. */
	for (size_t i = 0; i < plan->count; i++)
		if (((able & OWNED_BY_CPU) && plan->events[i].spec.tid > PM_SYSTEM) ||
		    ((plan->events[i].spec.flags & PM_SPEC_EXACT) &&
		     pm_plan_counts_children(plan, &plan->events[i], able)))
			return false;
	return able & GIVES_SUMS;
}

/* Reads the events where they may be, and `count` elements of `size` taken. 0 or -errno. */
static int read_events(struct pm_session *session, size_t size, size_t least, size_t count)
{
	int err = pm_session_check(session);

	if (err == 0 && count > 0 && (size < least || size > SIZE_MOST))
		err = -EINVAL;
	if (err == 0 && !has_sums(session->plan, session->strategy->able))
		err = -ENOTSUP;
	if (err < 0)
		return err;
	pm_late_cpus_follow(session, false);
	err = counts_twice(session) ? -ENOTSUP : pm_shares_read(session, &session->shares);
	if (err == 0)
		pm_account_times(session, session->shares.raw);
	return err;
}

int pm_session_read(struct pm_session *session, struct pm_value *ret, size_t count)
{
	int err = read_events(session, count ? ret->size : 0, sizeof(*ret), count);
	struct pm_value values[PLAN_EVENTS_MAX];

	if (err < 0)
		return err;
	pm_shares_sum(session, &session->shares, values);
	if (count > session->plan->asked)
		count = session->plan->asked;
	for (size_t i = 0; i < count; i++)
		pm_give_element(ret, i, &values[i], sizeof(values[i]));
	return (int)count;
}

/* What events counted that went with their CPU. Returns the new count. */
static size_t add_ended(const struct session_cpu *cpu, const struct pm_plan *plan, size_t have,
			struct pm_part *ret, size_t count)
{
	for (size_t i = 0; i < plan->count; i++, have++) {
		const struct pm_value *sum = &cpu->folded[i];
		const struct pm_part part = {
			.event = plan->events[i].asked, .tid = -1, .cpu = cpu->cpu,
			.value = sum->value, .enabled = sum->enabled, .running = sum->running,
		};

		if (have < count)
			pm_give_element(ret, have, &part, sizeof(struct pm_part));
	}
	return have;
}

static size_t give_parts(const struct pm_session *session, const struct shares *shares,
			 struct pm_part *ret, size_t count)
{
	size_t have = session->events.count;

	for (size_t i = 0; i < have && i < count; i++) {
		const struct session_event *event = &session->events.list[i];
		const struct share *share = &shares->list[i];
		const struct pm_part part = {
			.event = session->plan->events[event->spec].asked, .tid = event->tid,
			.cpu = event->cpu, .value = share->value, .enabled = share->enabled,
			.running = share->running,
		};

		pm_give_element(ret, i, &part, sizeof(struct pm_part));
	}
	for (size_t i = 0; i < session->cpus.count; i++)
		if (session->cpus.list[i].ended)
			have = add_ended(&session->cpus.list[i], session->plan, have, ret, count);
	return have;
}

int pm_session_read_parts(struct pm_session *session, struct pm_part *ret, size_t count)
{
	int err = read_events(session, count ? ret->size : 0, sizeof(*ret), count);

	return err < 0 ? err : (int)give_parts(session, &session->shares, ret, count);
}

int pm_session_stats(const struct pm_session *session, struct pm_stats *ret)
{
	struct pm_stats stats = session->stats;

	stats.size = ret->size;
	stats.lost_counted = session->sums.lost;
	stats.cpu_time = pm_cpu_time_used(session);
	stats.cpu_time_sampled = session->proof->cpu_time.sampled;
	memcpy(ret, &stats, ret->size < sizeof(stats) ? ret->size : sizeof(stats));
	return 0;
}
