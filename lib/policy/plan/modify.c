/* SPDX-License-Identifier: MIT */
/*
 * Modifiers make events better where the kernel takes them. The plan does without those that a
 * fact, the kernel or a filter speaks against. They are tried one by one: that the newest one is
 * refused says nothing about the others, because stable kernels and filters take them in no order.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../diagnosis/words.h"
#include "../profile/deny.h"
#include "../profile/facts.h"
#include "../profile/profile.h"
#include "attrs.h"
#include "modify.h"

#define MODIFIER_FACTS(X) \
	X("ring.wakeup.watermark_counts_bytes", WATERMARK, "wake-ups by bytes") \
	X("attr.sample_type_bits.identifier", IDENTIFIER, "PERF_SAMPLE_IDENTIFIER") \
	X("attach.cloexec.sets_flag", CLOEXEC, "close-on-exec from the start") \
	X("attr.flag_bits.exclude_callchain_kernel", CALLCHAIN, "exclude_callchain_kernel") \
	X("attr.flag_bits.use_clockid", CLOCK, "a chosen clock") \
	X("attr.read_format_bits.lost", LOST, "PERF_FORMAT_LOST")
PM_FACTS(modifiers, MODIFIER_FACTS);

static const struct {
	const char *name, *key;
} modifiers[MODIFIERS_OF_FACTS] = {
#define MODIFIER_ROW(key, modifier, name) [MODIFIER_##modifier] = { name, key },
	MODIFIER_FACTS(MODIFIER_ROW)
};

#define CLOCK_FACTS(X) \
	X("clock.clockid.monotonic.stamps", CLOCK_MONOTONIC) \
	X("clock.clockid.monotonic_raw.stamps", CLOCK_MONOTONIC_RAW) \
	X("clock.clockid.realtime.stamps", CLOCK_REALTIME) \
	X("clock.clockid.boottime.stamps", CLOCK_BOOTTIME) \
	X("clock.clockid.tai.stamps", CLOCK_TAI)
PM_FACTS(clocks, CLOCK_FACTS);

static const struct clock {
	int clock;
	const char *name, *key;
} clocks[] = {
#define CLOCK_ROW(key, id) { id, #id, key },
	CLOCK_FACTS(CLOCK_ROW)
};

const char *pm_modify_name(enum modifier modifier)
{
	return modifier < MODIFIERS_OF_FACTS ? modifiers[modifier].name : pm_attr_name(modifier);
}

static const struct clock *find_clock(int clock)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (clocks[i].clock == clock)
			return &clocks[i];
	return NULL;
}

static const char *clock_name(int clock)
{
	const struct clock *known = find_clock(clock);

	return known ? known->name : "a clock without a name";
}

const char *pm_modify_clock_key(int clock)
{
	const struct clock *known = find_clock(clock);

	return known ? known->key : modifiers[MODIFIER_CLOCK].key;
}

const char *pm_modify_clock(const struct pm_plan *plan)
{
	return pm_plan_takes(plan, MODIFIER(CLOCK)) ? clock_name(plan->clocks[plan->clock]) :
		"perf's own";
}

static uint32_t bit_of(enum modifier modifier)
{
	return UINT32_C(1) << modifier;
}

/* What a session is not done without: its chains. */
static uint32_t needed(const struct pm_plan *plan)
{
	return plan->apart.cpus == NULL ? MODIFIER(CHAIN) : 0;
}

/* ----------------------------------------------------------------------------- what facts leave */

/*
 * The negotiation finds out whether what was blocked once is blocked now. It cannot find out what
 * was wrong on another build; to do without is better than to be wrong, so that counts here.
 */
static bool is_denied(struct pm_plan *plan, enum modifier modifier, const char *key)
{
	struct pm_fact fact = { .size = sizeof(fact) };

	if (pm_profile_lookup(plan->profile, key, &fact) < 0 || !pm_verdict_denies(fact.verdict))
		return false;
	pm_fact_text(key, &fact, plan->without[modifier], sizeof(plan->without[modifier]));
	return true;
}

static void add_clock(struct pm_plan *plan, int clock)
{
	for (size_t i = 0; i < plan->clock_count; i++)
		if (plan->clocks[i] == clock)
			return;
	/* That a clock is missing behind a better one is nothing to be told. */
	if (plan->clock_count > 0 ? !pm_denies(plan->profile, pm_modify_clock_key(clock)) :
	    !is_denied(plan, MODIFIER_CLOCK, pm_modify_clock_key(clock)))
		plan->clocks[plan->clock_count++] = clock;
}

/* The one that is wished for; then those that no interrupt has to wait for. */
static void add_clocks(struct pm_plan *plan)
{
	plan->clock = plan->clock_count = 0;
	if (plan->opts.clock > 0)
		add_clock(plan, plan->opts.clock - 1);
	/* A sampler stamps what it finds in /proc by the very one that is wished for. */
	if (plan->apart.cpus != NULL)
		return;
	add_clock(plan, CLOCK_MONOTONIC);
	add_clock(plan, CLOCK_MONOTONIC_RAW);
}

void pm_modify_begin(struct pm_plan *plan)
{
	plan->modifiers = 0;
	memset(plan->without, 0, sizeof(plan->without));
	add_clocks(plan);
	for (int i = 0; i < MODIFIERS; i++)
		if (i < MODIFIERS_OF_FACTS ? (bit_of(i) & needed(plan)) ||
		    !is_denied(plan, i, modifiers[i].key) : pm_attr_asks(plan, i))
			plan->modifiers |= bit_of(i);
	if (plan->clock_count == 0)
		plan->modifiers &= ~MODIFIER(CLOCK);
}

/* -------------------------------------------------------------------------- what attempts leave */

typedef int try_function(struct pm_plan *plan, struct plan_event *event, bool inherit);

/* Where the modifier is kept: with all of them, or with the event. */
static uint32_t *word_of(struct pm_plan *plan, struct plan_event *event, enum modifier modifier)
{
	return plan->apart.cpus == NULL || (MODIFIERS_OF_ALL & bit_of(modifier)) ?
		&plan->modifiers : &event->modifiers;
}

static void note(struct pm_plan *plan, struct plan_event *event, enum modifier modifier,
		 const char *what, int err)
{
	if (word_of(plan, event, modifier) == &plan->modifiers)
		snprintf(plan->without[modifier], sizeof(plan->without[modifier]),
			 "%s is refused (%s)", what, pm_errno_name(-err));
	else
		pm_put_also(event->why, sizeof(event->why), "without %s (%s)",
			    pm_modify_name(modifier), pm_errno_name(-err));
}

static void put_back_clock(struct pm_plan *plan, struct plan_event *event, try_function *try)
{
	plan->modifiers |= MODIFIER(CLOCK);
	for (; plan->clock < plan->clock_count; plan->clock++) {
		int err = try(plan, event, false);

		if (err == 0)
			return;
		note(plan, event, MODIFIER_CLOCK, clock_name(plan->clocks[plan->clock]), err);
	}
	plan->clock = 0;
	plan->modifiers &= ~MODIFIER(CLOCK);
}

static void put_back(struct pm_plan *plan, struct plan_event *event, enum modifier modifier,
		     try_function *try)
{
	int err;

	if (modifier == MODIFIER_CLOCK) {
		put_back_clock(plan, event, try);
		return;
	}
	*word_of(plan, event, modifier) |= bit_of(modifier);
	err = try(plan, event, false);
	if (err == 0)
		return;
	*word_of(plan, event, modifier) &= ~bit_of(modifier);
	note(plan, event, modifier, "it", err);
}

int pm_modify_less(struct pm_plan *plan, struct plan_event *event, try_function *try)
{
	const uint32_t before = pm_plan_modifiers(plan, event), all = plan->modifiers;
	const uint32_t spared = needed(plan) |
		(plan->apart.cpus == NULL ? 0 : ~MODIFIERS_OF_ALL);
	int err;

	plan->modifiers &= spared;
	event->modifiers &= needed(plan);
	err = try(plan, event, false);
	if (err < 0) {
		plan->modifiers = all;
		event->modifiers = before;
		return err;
	}
	for (int i = 0; i < MODIFIERS; i++)
		if (before & ~needed(plan) & bit_of(i))
			put_back(plan, event, i, try);
	/* As it is to be: the last attempt may have been of something that was refused. */
	return try(plan, event, false);
}
