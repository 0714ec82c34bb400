/* SPDX-License-Identifier: MIT */
/* Whose time it is that events were enabled and ran for. */
#include "shares.h"

#include <stdlib.h>
#include <string.h>

#include "../plan/group.h"
#include "../spec/now.h"
#include "engine.h"

/* ------------------------------------------------------------------------------------- reading */

static bool is_of(const struct share_target *target, uint32_t asked, pid_t tid)
{
	return target->asked == asked && target->tid == tid;
}

/* Events of one target lie beside each other, but for those of CPUs that came later. */
static struct share_target *find_target(const struct shares *shares, uint32_t asked,
					const struct session_event *event)
{
	size_t i = shares->target_count;

	if (event->tid < 0)
		return NULL;
	if (i > 0 && is_of(&shares->targets[i - 1], asked, event->tid))
		return &shares->targets[i - 1];
	for (i = 0; event->late != 0 && i < shares->target_count; i++)
		if (is_of(&shares->targets[i], asked, event->tid))
			return &shares->targets[i];
	return NULL;
}

static struct share_target *target_of(struct shares *shares, uint32_t asked,
				      const struct session_event *event)
{
	struct share_target *found = find_target(shares, asked, event);

	if (found == NULL) {
		found = &shares->targets[shares->target_count++];
		*found = (struct share_target){
			.asked = asked, .tid = event->tid, .late = event->late != 0,
			.begun = { event->begun[0], event->begun[1] }, .read = { pm_now() },
		};
	}
	return found;
}

static void add(struct share_target *target, const struct session_event *event,
		const struct share *part)
{
	target->events++;
	target->value += part->value;
	target->running += part->running;
	if (part->enabled > target->enabled)
		target->enabled = part->enabled;
	if (event->begun[0] < target->begun[0])
		target->begun[0] = event->begun[0];
	if (event->begun[1] > target->begun[1])
		target->begun[1] = event->begun[1];
}

static int read_all(struct pm_session *session, struct shares *shares)
{
	const struct event_list *events = &session->events;

	for (size_t i = 0; i < events->count; i++) {
		const struct session_event *event = &events->list[i];
		const uint32_t asked = session->plan->events[event->spec].asked;
		struct share_target *target = target_of(shares, asked, event);
		struct pm_value *raw = &shares->raw[event->spec];
		struct share *part = &shares->list[i];
		struct pm_counts counts;
		int err = event->fd < 0 ? 0 : pm_event_counts(events, event, &counts);

		if (err < 0)
			return err;
		part->target = (size_t)(target - shares->targets);
		if (event->fd < 0)
			continue;
		part->value = counts.member[0].value;
		raw->value += part->value;
		raw->enabled += part->enabled = counts.time_enabled;
		raw->running += part->running = counts.time_running;
		add(target, event, part);
		target->read[1] = pm_now();
	}
	shares->count = events->count;
	return 0;
}

/* ------------------------------------------------------------------------------------- judging */

/* What a thread did on other CPUs than those of its events is not known. */
static bool is_of_some_cpus(const struct pm_plan *plan, uint32_t asked)
{
	size_t on = 0;
	bool kinds = false;

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->events[i].asked != asked || plan->events[i].pmu[0] == '\0')
			continue;
		kinds = true;
		for (size_t k = 0; k < sizeof(plan->events[i].on); k++)
			on += (size_t)__builtin_popcount(plan->events[i].on[k]);
	}
	return plan->cpus[0] != '\0' || (kinds && on < plan->now.cpus);
}

static bool is_always_on(const struct pm_plan *plan, uint32_t asked)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].asked == asked &&
		    !pm_group_is_always_on(plan, &plan->events[i]))
			return false;
	return true;
}

/*
 * Its events begin and are read one after the other, and that long the thread may have run, or on
 * each CPU one of those that it made. No share can be told from 1 by less.
 */
static uint64_t between(const struct share_target *target)
{
	const uint64_t reading = target->read[1] > target->read[0] ?
		target->read[1] - target->read[0] : 0;

	return (target->begun[1] - target->begun[0] + reading) * target->events;
}

/*
 * Events of two CPUs were seen to run for longer than either was enabled, by one to two hundredths,
 * where threads with inherited events had ended (6.18, 7.3).
 */
static void settle(struct share_target *target, uint64_t least, bool always_on)
{
	const bool more = target->running > target->enabled;
	const uint64_t apart = more ? target->running - target->enabled :
		target->enabled - target->running;

	if (more)
		least += target->enabled / 8;
	if (apart <= least || (always_on && target->running > 0))
		target->enabled = target->running;
}

/* So that value, share and estimate of the parts are those of the whole. */
static uint64_t part_of(uint64_t running, uint64_t all_enabled, uint64_t all_running)
{
	const struct pm_value whole = {
		.value = running, .enabled = all_enabled, .running = all_running,
	};
	uint64_t enabled = running;

	(void)pm_value_scale(&whole, &enabled);
	return enabled;
}

/*
 * A thread that is younger than the session has events of its own on CPUs that came later, and what
 * it did elsewhere is in those of the thread that made it: only all together tell.
 */
static void settle_together(struct shares *shares, uint32_t asked, bool always_on)
{
	struct share_target all = { .tid = 0 };
	uint64_t least = 0;

	for (size_t i = 0; i < shares->target_count; i++) {
		const struct share_target *target = &shares->targets[i];

		if (target->asked != asked)
			continue;
		all.enabled += target->late ? 0 : target->enabled;
		all.running += target->running;
		least += between(target);
	}
	settle(&all, least, always_on);
	for (size_t i = 0; i < shares->target_count; i++) {
		struct share_target *target = &shares->targets[i];

		if (target->asked == asked)
			target->enabled = part_of(target->running, all.enabled, all.running);
	}
}

static void settle_spec(const struct pm_plan *plan, struct shares *shares, uint32_t asked)
{
	const bool some = is_of_some_cpus(plan, asked), always = is_always_on(plan, asked);
	bool late = false;

	for (size_t i = 0; i < shares->target_count; i++) {
		struct share_target *target = &shares->targets[i];

		if (target->asked != asked || target->tid < 0)
			continue;
		if (some) {
			target->running = always ? target->running : 0;
			target->enabled = target->running;
			continue;
		}
		if (target->events > 1)
			settle(target, between(target), always);
		late |= target->late;
	}
	if (late && !some)
		settle_together(shares, asked, always);
}

/* An event of a thread is a part of what its target tells; one of a CPU is its own. */
static void share_out(struct shares *shares)
{
	for (size_t i = 0; i < shares->count; i++) {
		struct share *part = &shares->list[i];
		const struct share_target *target = &shares->targets[part->target];

		if (target->running == 0)
			part->running = 0;
		part->enabled = target->running == 0 ? target->enabled / target->events :
			part_of(part->running, target->enabled, target->running);
	}
}

static int make_room(struct shares *shares, size_t count)
{
	if (count > shares->room || shares->room == 0) {
		pm_shares_free(shares);
		shares->room = count ? count : 1;
		shares->list = malloc(shares->room * sizeof(*shares->list));
		shares->targets = malloc(shares->room * sizeof(*shares->targets));
		if (shares->list == NULL || shares->targets == NULL) {
			pm_shares_free(shares);
			return -ENOMEM;
		}
	}
	memset(shares->list, 0, shares->room * sizeof(*shares->list));
	memset(shares->targets, 0, shares->room * sizeof(*shares->targets));
	memset(shares->raw, 0, sizeof(shares->raw));
	shares->count = shares->target_count = 0;
	return 0;
}

int pm_shares_read(struct pm_session *session, struct shares *ret)
{
	int err = make_room(ret, session->events.count);

	if (err == 0)
		err = read_all(session, ret);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < session->plan->asked; i++)
		settle_spec(session->plan, ret, i);
	share_out(ret);
	return 0;
}

void pm_shares_free(struct shares *shares)
{
	free(shares->list);
	free(shares->targets);
	*shares = (struct shares){ .list = NULL };
}

/* --------------------------------------------------------------------------------------- sums */

/*
 * Events that are closed are those of ended threads, one for each kind of cores, whose times are
 * all its own; or those of a CPU that went.
 */
static void add_closed(const struct pm_session *session, struct pm_value *ret)
{
	const struct pm_plan *plan = session->plan;
	uint64_t enabled[PLAN_EVENTS_MAX] = { 0 };

	for (size_t i = 0; i < plan->count; i++) {
		const struct pm_value *closed = &session->sums.closed[i];
		const uint32_t asked = plan->events[i].asked;

		ret[asked].value += closed->value;
		ret[asked].running += closed->running;
		if (session->strategy->able & OWNED_BY_CPU)
			enabled[asked] += closed->enabled;
		else if (closed->enabled > enabled[asked])
			enabled[asked] = closed->enabled;
	}
	for (size_t i = 0; i < plan->asked; i++)
		ret[i].enabled += enabled[i];
}

void pm_shares_sum(const struct pm_session *session, const struct shares *shares,
		   struct pm_value *ret)
{
	const struct pm_plan *plan = session->plan;

	memset(ret, 0, plan->asked * sizeof(*ret));
	for (size_t i = 0; i < shares->target_count; i++) {
		const struct share_target *target = &shares->targets[i];
		struct pm_value *sum = &ret[target->asked];

		sum->value += target->value;
		sum->enabled += target->enabled;
		sum->running += target->running;
	}
	add_closed(session, ret);
	for (uint32_t i = 0; i < plan->asked; i++) {
		if (session->strategy->able & OWNED_BY_CPU || !is_of_some_cpus(plan, i))
			continue;
		ret[i].running = is_always_on(plan, i) ? ret[i].running : 0;
		ret[i].enabled = ret[i].running;
	}
}
