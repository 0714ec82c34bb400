/* SPDX-License-Identifier: MIT */
/* Any bytes as packets to the broker: every request that it permits is harmless. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../policy/broker/broker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_event_attr asked, kept;
	int tid = -5, cpu = -5;

	if (pm_broker_parse(data, size, &tid, &cpu, &asked) != 0)
		return 0;
	if ((tid <= 0 && (tid != -1 || cpu < 0)) || cpu < -1 ||
	    size > sizeof(struct broker_request))
		abort();
	for (unsigned int allow = 0; allow < 2 * PM_BROKER_STACKS; allow++) {
		if (pm_broker_permit(&asked, allow, &kept) != 0)
			continue;
		if (kept.sigtrap || kept.pinned || kept.exclusive || kept.aux_output ||
		    kept.text_poke || kept.namespaces || kept.enable_on_exec ||
		    (kept.sample_type & (PERF_SAMPLE_RAW | PERF_SAMPLE_PHYS_ADDR |
					 PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_AUX)))
			abort();
		if (!(allow & PM_BROKER_KERNEL) && !kept.exclude_kernel)
			abort();
		if (!(allow & PM_BROKER_STACKS) &&
		    (kept.sample_type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)))
			abort();
		if (!(allow & (PM_BROKER_OTHERS | PM_BROKER_SYSTEM)) &&
		    (kept.cgroup || kept.context_switch || kept.mmap_data ||
		     (kept.sample_type & PERF_SAMPLE_CGROUP)))
			abort();
		if (!(allow & PM_BROKER_ANY_PMU) && kept.type > PERF_TYPE_SOFTWARE &&
		    kept.type != PERF_TYPE_HW_CACHE)
			abort();
	}
	return 0;
}
