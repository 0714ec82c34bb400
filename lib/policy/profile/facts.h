/* SPDX-License-Identifier: MIT */
/*
 * The facts by which the library decides; not installed.
 *
 * A fact is declared in the table that decides by it and nowhere else: the table is a list macro
 * whose rows begin with the key, and PM_FACTS lays the keys of the list as text into the section
 * .pm_facts of the library, as .probeinfo does for probes. What ships, the quick suite and the
 * documentation read that section (reports/facts.py).
 *
 *	#define CLOCKS(X) \
 *		X("clock.clockid.monotonic.stamps", CLOCK_MONOTONIC) \
 *		X("clock.clockid.tai.stamps", CLOCK_TAI)
 *	PM_FACTS(clocks, CLOCKS);
 *	#define ROW(key, id) { key, id },
 *	static const struct clock clocks[] = { CLOCKS(ROW) };
 */
#ifndef PM_FACTS_H
#define PM_FACTS_H

#define PM_FACT_LINE(key, ...) "fact=" key "\0"

/* `who` decides by the keys of `list`. One array for a list: compilers reorder arrays. */
#define PM_FACTS(who, list) \
	static const char pm_facts_of_##who[] __attribute__((section(".pm_facts"), used)) = \
		"by=" #who "\0" list(PM_FACT_LINE)

/* A row of such a list as the key alone. */
#define PM_FACT_KEY(key, ...) key,

/* A fact that stands alone: `name` becomes its key. */
#define PM_FACT(name, key) \
	static const char pm_fact_of_##name[] __attribute__((section(".pm_facts"), used)) = \
		"by=" #name "\0" PM_FACT_LINE(key); \
	static const char name[] = key

#endif
