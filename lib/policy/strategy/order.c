/* SPDX-License-Identifier: MIT */
/*
 * The strategies in the order of preference. A new one is a file beside this one that exports its
 * row, a constant of enum pm_strategy with the next number, and a line here.
 */
#include "order.h"

#include "../plan/make.h"

#ifdef __powerpc64__
#define ONLY_ON_POWER(X) X(EBB, ebb)	/* of ../../ebb; who allows them wants them */
#else
#define ONLY_ON_POWER(X)
#endif

#define IN_ORDER(X) \
	ONLY_ON_POWER(X) \
	X(PER_CPU, per_cpu) \
	X(OWN_RINGS, own_rings) \
	X(PER_THREAD, per_thread) \
	X(CPU_WIDE, cpu_wide) \
	X(CGROUP, cgroup) \
	X(BROKER, broker) \
	X(SIGNALS, signals) \
	X(COUNTERS, counters) \
	X(COUNTERS_PER_CPU, counters_per_cpu) \
	X(TIMERS, timers) \
	X(PROCESS_TIMER, process_timer)

#define DECLARE(constant, name) extern const struct strategy pm_strategy_##name;
IN_ORDER(DECLARE)

#define RANK(constant, name) { PM_STRATEGY_##constant, &pm_strategy_##name },
const struct ranked pm_strategies[STRATEGIES] = { IN_ORDER(RANK) };

#define COUNT(constant, name) + 1
_Static_assert(IN_ORDER(COUNT) == STRATEGIES, "plan/strategy.h says how many there are");

/* The compiler refuses a number that two of them have. */
const struct strategy *pm_strategy_of(enum pm_strategy number)
{
#define CASE(constant, name) case PM_STRATEGY_##constant: return &pm_strategy_##name;
	switch (number) {
	IN_ORDER(CASE)
	default: return NULL;
	}
}

const char *pm_strategy_name(enum pm_strategy strategy)
{
	const struct strategy *row = pm_strategy_of(strategy);

	return row ? row->name : NULL;
}

int pm_plan_make(const struct pm_event_spec *specs, size_t count,
		 const struct pm_session_opts *opts, struct pm_profile *profile,
		 struct pm_diag *diag, struct pm_plan **ret)
{
	return pm_plan_make_of(pm_strategies, specs, count, opts, profile, diag, ret);
}
