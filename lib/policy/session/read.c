/* SPDX-License-Identifier: MIT */
/* Reading what a session has counted, of events and of its own work. */
#include "late_cpus.h"

#include <string.h>

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
	/* A CPU's counter holds what everybody did there. */
	for (size_t i = 0; (able & OWNED_BY_CPU) && i < plan->count; i++)
		if (plan->events[i].spec.tid > PM_SYSTEM)
			return false;
	return able & GIVES_SUMS;
}

int pm_session_read(struct pm_session *session, struct pm_value *ret, size_t count)
{
	struct pm_value values[PLAN_EVENTS_MAX];
	int err = pm_session_check(session);

	if (err == 0 && count > 0 && (ret->size < sizeof(*ret) || ret->size > 4096))
		err = -EINVAL;
	if (err == 0 && !has_sums(session->plan, session->strategy->able))
		err = -ENOTSUP;
	if (err < 0)
		return err;
	pm_late_cpus_follow(session, false);
	if (counts_twice(session))
		return -ENOTSUP;
	err = pm_sums_read(&session->sums, &session->events, values);
	if (err < 0)
		return err;
	if (count > session->plan->count)
		count = session->plan->count;
	for (size_t i = 0; i < count; i++) {
		struct pm_value *to = pm_element(ret, i);

		to->size = ret->size;
		(void)pm_give(to, &values[i], sizeof(values[i]), sizeof(values[i]));
	}
	return (int)count;
}

static int read_part(const struct event_list *events, const struct session_event *event,
		     struct pm_part *ret)
{
	struct pm_counts counts;
	int err;

	ret->event = event->spec;
	ret->tid = event->tid;
	ret->cpu = event->cpu;
	ret->value = ret->enabled = ret->running = 0;
	if (event->fd < 0)
		return 0;
	err = pm_event_counts(events, event, &counts);
	if (err < 0)
		return err;
	ret->value = counts.member[0].value;
	ret->enabled = counts.time_enabled;
	ret->running = counts.time_running;
	return 0;
}

static void give_part(struct pm_part *ret, size_t index, const struct pm_part *part)
{
	struct pm_part *to = pm_element(ret, index);

	to->size = ret->size;
	(void)pm_give(to, part, sizeof(*part), sizeof(*part));
}

/* What events counted that went with their CPU. Returns the new count. */
static size_t add_ended(const struct session_cpu *cpu, size_t specs, size_t have,
			struct pm_part *ret, size_t count)
{
	for (size_t i = 0; i < specs; i++, have++) {
		const struct pm_value *sum = &cpu->folded[i];
		const struct pm_part part = {
			.event = i, .tid = -1, .cpu = cpu->cpu, .value = sum->value,
			.enabled = sum->enabled, .running = sum->running,
		};

		if (have < count)
			give_part(ret, have, &part);
	}
	return have;
}

int pm_session_read_parts(struct pm_session *session, struct pm_part *ret, size_t count)
{
	struct pm_value unused;
	int err = pm_session_read(session, &unused, 0);
	size_t have;

	if (err == 0 && count > 0 && (ret->size < sizeof(*ret) || ret->size > 4096))
		err = -EINVAL;
	if (err < 0)
		return err;
	for (size_t i = 0; i < session->events.count && i < count; i++) {
		struct pm_part part;

		err = read_part(&session->events, &session->events.list[i], &part);
		if (err < 0)
			return err;
		give_part(ret, i, &part);
	}
	have = session->events.count;
	for (size_t i = 0; i < session->cpus.count; i++)
		if (session->cpus.list[i].ended)
			have = add_ended(&session->cpus.list[i], session->plan->count, have, ret,
					 count);
	return (int)have;
}

int pm_session_stats(const struct pm_session *session, struct pm_stats *ret)
{
	struct pm_stats stats = session->stats;

	stats.size = ret->size;
	stats.lost_counted = session->sums.lost;
	stats.cpu_time = pm_cpu_time_used(session);
	stats.cpu_time_sampled = session->cpu_time.sampled;
	memcpy(ret, &stats, ret->size < sizeof(stats) ? ret->size : sizeof(stats));
	return 0;
}
