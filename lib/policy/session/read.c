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

/*
 * From sums of our events to those of the caller's specs. An event of any CPU is enabled all the
 * time of its thread and runs on its kind of cores; events of CPUs are enabled where they run.
 */
static void add_kinds(const struct pm_session *session, struct pm_value *values)
{
	const struct pm_plan *plan = session->plan;
	const bool by_cpu = session->events.count > 0 && session->events.list[0].cpu >= 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct pm_value from = values[i];
		struct pm_value *to = &values[plan->events[i].asked];

		if (i == 0 || plan->events[i].asked != plan->events[i - 1].asked) {
			*to = from;
			continue;
		}
		to->value += from.value;
		to->running += from.running;
		if (by_cpu)
			to->enabled += from.enabled;
		else if (from.enabled > to->enabled)
			to->enabled = from.enabled;
	}
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
	pm_account_times(session, values);
	add_kinds(session, values);
	if (count > session->plan->asked)
		count = session->plan->asked;
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

	ret->event = events->plan->events[event->spec].asked;
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
			have = add_ended(&session->cpus.list[i], session->plan, have, ret, count);
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
