/* SPDX-License-Identifier: MIT */
/*
 * The strategies in the order of preference, which is the order of enum pm_strategy. A new one is a
 * file beside this one that exports its row, a constant of that enum, and a line here.
 */
#include "order.h"

#include "../plan/make.h"

#ifdef __powerpc64__
#define ONLY_ON_POWER(X) X(EBB, ebb)	/* of ../../ebb */
#else
#define ONLY_ON_POWER(X)
#endif

#define STRATEGIES(X) \
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
	X(PROCESS_TIMER, process_timer) \
	ONLY_ON_POWER(X)

#define DECLARE(constant, name) extern const struct strategy pm_strategy_##name;
STRATEGIES(DECLARE)

#define ROW(constant, name) [PM_STRATEGY_##constant] = &pm_strategy_##name,
const struct strategy *const pm_strategies[PM_STRATEGIES] = { STRATEGIES(ROW) };

#define COUNT(constant, name) + 1
_Static_assert(STRATEGIES(COUNT) == PM_STRATEGIES, "a constant without a line here");

const char *pm_strategy_name(enum pm_strategy strategy)
{
	return (unsigned int)strategy < PM_STRATEGIES ? pm_strategies[strategy]->name : NULL;
}

int pm_plan_make(const struct pm_event_spec *specs, size_t count,
		 const struct pm_session_opts *opts, struct pm_profile *profile,
		 struct pm_diag *diag, struct pm_plan **ret)
{
	return pm_plan_make_of(pm_strategies, specs, count, opts, profile, diag, ret);
}
