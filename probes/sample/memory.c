/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What do the fields about a memory access hold for an event that knows nothing about it?
 * Observed: the sample of one touched page.
 */
#include "probe.h"
#include "one_fault.h"

PROBE(TITLE("memory access fields of samples")
      SINCE("3.10")
      POINT(weight, "WEIGHT of a page fault is 0")
      POINT(weight_struct, "WEIGHT_STRUCT of a page fault is 0")
      SINCE("5.12")
      POINT(data_src, "DATA_SRC of a page fault says not available in every part")
      POINT(transaction, "TRANSACTION of a page fault is 0")
      SINCE("3.13"))

static struct pm_sample fault_with(uint64_t type, const char *what)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR | type);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_ADDR);
	struct sampler sampler = ask_sampler(&attr, &without, 0, -1, 1, what);

	return sample_fault(&sampler);
}

TEST(weight)
{
	struct pm_sample sample = fault_with(PERF_SAMPLE_WEIGHT, "WEIGHT");

	if (sample.weight)
		say_broken("weight=%" PRIu64 " want=0", sample.weight);
}

TEST(weight_struct)
{
	struct pm_sample sample = fault_with(PERF_SAMPLE_WEIGHT_STRUCT, "WEIGHT_STRUCT");

	if (sample.weight)
		say_broken("weight=%#" PRIx64 " want=0", sample.weight);
}

TEST(data_src)
{
	struct pm_sample sample = fault_with(PERF_SAMPLE_DATA_SRC, "DATA_SRC");
	union perf_mem_data_src source = { .val = sample.data_src };

	if (source.mem_op != PERF_MEM_OP_NA || source.mem_lvl != PERF_MEM_LVL_NA ||
	    source.mem_snoop != PERF_MEM_SNOOP_NA || source.mem_lock != PERF_MEM_LOCK_NA ||
	    source.mem_dtlb != PERF_MEM_TLB_NA)
		say_broken("data_src=%#" PRIx64 " says more than not available", sample.data_src);
}

TEST(transaction)
{
	struct pm_sample sample = fault_with(PERF_SAMPLE_TRANSACTION, "TRANSACTION");

	if (sample.transaction)
		say_broken("transaction=%#" PRIx64 " want=0", sample.transaction);
}

PROBE_MAIN
