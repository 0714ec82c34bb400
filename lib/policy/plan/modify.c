/* SPDX-License-Identifier: MIT */
/*
 * Modifiers make events better where the kernel takes them. The plan does without those that a
 * fact, the kernel or a filter speaks against. They are tried one by one: that the newest one is
 * refused says nothing about the others, because stable kernels and filters take them in no order.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../diagnosis/diag.h"
#include "modify.h"
#include "../profile/facts.h"
#include "../profile/profile.h"
#include "../profile/deny.h"

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

/* What was asked for, and can be done without: it is taken where the kernel takes it. */
static const struct {
	const char *name;
	unsigned int side;		/* option that asks for it; 0: an event's want */
	unsigned int want;
} extras[MODIFIERS] = {
	[MODIFIER_MAPS] = { "MMAP records", PM_SIDE_MMAP | PM_SIDE_BUILD_ID, 0 },
	[MODIFIER_MAPS2] = { "MMAP2 records", PM_SIDE_MMAP | PM_SIDE_BUILD_ID, 0 },
	[MODIFIER_BUILD_IDS] = { "build ids in MMAP2 records", PM_SIDE_BUILD_ID, 0 },
	[MODIFIER_EXECS] = { "the mark of an exec", PM_SIDE_EXEC, 0 },
	[MODIFIER_SWITCHES] = { "SWITCH records", PM_SIDE_SWITCH, 0 },
	[MODIFIER_CGROUPS] = { "CGROUP records", PM_SIDE_CGROUP, 0 },
	[MODIFIER_KSYMBOLS] = { "KSYMBOL records", PM_SIDE_KSYMBOL, 0 },
	[MODIFIER_BRANCHES] = { "branches", 0, PM_WANT_BRANCHES },
	[MODIFIER_GROUP] = { "group values", 0, PM_WANT_GROUP },
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
	return modifier < MODIFIERS_OF_FACTS ? modifiers[modifier].name : extras[modifier].name;
}

static bool *flag_of(struct pm_plan *plan, enum modifier modifier)
{
	bool *const flags[MODIFIERS_OF_FACTS] = {
		[MODIFIER_WATERMARK] = &plan->watermark,
		[MODIFIER_IDENTIFIER] = &plan->identifier,
		[MODIFIER_CLOEXEC] = &plan->cloexec,
		[MODIFIER_CALLCHAIN] = &plan->user_chain,
		[MODIFIER_CLOCK] = &plan->clockid,
		[MODIFIER_LOST] = &plan->lost,
	};

	return modifier < MODIFIERS_OF_FACTS ? flags[modifier] : &plan->extra[modifier];
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
	return plan->clockid ? clock_name(plan->clocks[plan->clock]) : "perf's own";
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
	add_clock(plan, CLOCK_MONOTONIC);
	add_clock(plan, CLOCK_MONOTONIC_RAW);
}

static bool is_asked(const struct pm_plan *plan, enum modifier modifier)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->events[i].spec.want & extras[modifier].want)
			return true;
	return plan->opts.side & extras[modifier].side;
}

void pm_modify_begin(struct pm_plan *plan)
{
	add_clocks(plan);
	for (int i = MODIFIERS_OF_FACTS; i < MODIFIERS; i++)
		plan->extra[i] = is_asked(plan, i);
	for (int i = 0; i < MODIFIERS_OF_FACTS; i++)
		*flag_of(plan, i) = !is_denied(plan, i, modifiers[i].key);
	plan->clockid = plan->clockid && plan->clock_count > 0;
}

/* -------------------------------------------------------------------------- what attempts leave */

typedef int try_function(struct pm_plan *plan, struct plan_event *event, bool inherit);

static void note(struct pm_plan *plan, enum modifier modifier, const char *what, int err)
{
	snprintf(plan->without[modifier], sizeof(plan->without[modifier]), "%s is refused (%s)",
		 what, pm_errno_name(-err));
}

static void put_back_clock(struct pm_plan *plan, struct plan_event *event, try_function *try)
{
	plan->clockid = true;
	for (; plan->clock < plan->clock_count; plan->clock++) {
		int err = try(plan, event, false);

		if (err == 0)
			return;
		note(plan, MODIFIER_CLOCK, clock_name(plan->clocks[plan->clock]), err);
	}
	plan->clock = 0;
	plan->clockid = false;
}

static void put_back(struct pm_plan *plan, struct plan_event *event, enum modifier modifier,
		     try_function *try)
{
	int err;

	if (modifier == MODIFIER_CLOCK) {
		put_back_clock(plan, event, try);
		return;
	}
	*flag_of(plan, modifier) = true;
	err = try(plan, event, false);
	if (err == 0)
		return;
	*flag_of(plan, modifier) = false;
	note(plan, modifier, "it", err);
}

int pm_modify_less(struct pm_plan *plan, struct plan_event *event, try_function *try)
{
	bool before[MODIFIERS];
	int err;

	for (int i = 0; i < MODIFIERS; i++) {
		before[i] = *flag_of(plan, i);
		*flag_of(plan, i) = false;
	}
	err = try(plan, event, false);
	if (err < 0) {
		for (int i = 0; i < MODIFIERS; i++)
			*flag_of(plan, i) = before[i];
		return err;
	}
	for (int i = 0; i < MODIFIERS; i++)
		if (before[i])
			put_back(plan, event, i, try);
	/* As it is to be: the last attempt may have been of something that was refused. */
	return try(plan, event, false);
}
