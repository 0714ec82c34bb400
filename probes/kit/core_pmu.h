/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PMU of the core. Where cores differ there is one for each kind; a generic event lands on one
 * of them and is silent on the CPUs of the others.
 */
#ifndef CORE_PMU_H
#define CORE_PMU_H

#include <stddef.h>

#include "../../lib/pm_sys.h"

/*
 * An attr, as attr_of() makes it, for what a generic hardware event counts: PERF_COUNT_HW_..., or
 * where the core's PMU has no such event that of the same name in its folder events/.
 */
struct perf_event_attr attr_core(uint64_t config);
/* Put the event of that name in a PMU's folder events/ into an attr. Returns 0 or -errno. */
int place_event(const char *pmu, const char *name, struct perf_event_attr *attr);

/*
 * Hardware events count here: a plain one opens, and this thread stays on CPUs where it gets a
 * counter. Ends the test where it cannot be had; as unknown where it opens and gets no counter,
 * because others may hold them all.
 */
void must_have_counters(void);
/* The same, and the name of the PMU that generic events land on. */
void must_name_core(char *name, size_t size);
/* The type of the PMU whose list of CPUs has that one, or -1 where no PMU has such a list. */
int core_of_cpu(unsigned int cpu);
/* End the test as unknown if a plain event gets no counter now: a count of 0 says nothing then. */
void must_have_run(void);

#endif
