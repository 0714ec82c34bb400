/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which sample fields may be asked of which kind of event? Acceptance only; the other probes of
 * this area look at what then arrives.
 * Observed: each field is asked for alone, with the companion attributes it needs, of an event
 * that is accepted without it. AUX needs a group leader with an AUX area: sample.aux asks for it.
 */
#include "probe.h"
#include <stdio.h>

#define EACH_EVENT(field, version)                                                            \
	FACT(field.dummy, verdict, "-", "accepted by the dummy event") SINCE(version)          \
	FACT(field.cpu_clock, verdict, "-", "accepted by cpu-clock") SINCE(version)            \
	FACT(field.breakpoint, verdict, "-", "accepted by a breakpoint") SINCE(version)        \
	FACT(field.tracepoint, verdict, "-", "accepted by a tracepoint") SINCE(version)        \
	FACT(field.hardware, verdict, "-", "accepted by hardware cycles") SINCE(version)

PROBE(TITLE("sample fields by kind of event")
      SINCE("2.6.33")
      POINT(internal_bit_refused, "bit 63, which the kernel keeps for itself, is EINVAL")
      POINT(weights_exclude, "WEIGHT and WEIGHT_STRUCT together are EINVAL")
      SINCE("5.12")
      POINT(matrix, "every cell of the matrix below has an answer")
      EACH_EVENT(ip, "2.6.33")
      EACH_EVENT(tid, "2.6.33")
      EACH_EVENT(time, "2.6.33")
      EACH_EVENT(addr, "2.6.33")
      EACH_EVENT(read, "2.6.33")
      EACH_EVENT(callchain, "2.6.33")
      EACH_EVENT(id, "2.6.33")
      EACH_EVENT(cpu, "2.6.33")
      EACH_EVENT(period, "2.6.33")
      EACH_EVENT(stream_id, "2.6.33")
      EACH_EVENT(raw, "2.6.33")
      EACH_EVENT(branch_stack, "3.4")
      EACH_EVENT(regs_user, "3.7")
      EACH_EVENT(stack_user, "3.7")
      EACH_EVENT(weight, "3.10")
      EACH_EVENT(data_src, "3.10")
      EACH_EVENT(identifier, "3.12")
      EACH_EVENT(transaction, "3.13")
      EACH_EVENT(regs_intr, "3.19")
      EACH_EVENT(phys_addr, "4.14")
      EACH_EVENT(cgroup, "5.7")
      EACH_EVENT(data_page_size, "5.11")
      EACH_EVENT(code_page_size, "5.11")
      EACH_EVENT(weight_struct, "5.12"))

static const char *const fields[] = {
	"ip",	       "tid",	     "time",	 "addr",      "read",	     "callchain",
	"id",	       "cpu",	     "period",	 "stream_id", "raw",	     "branch_stack",
	"regs_user",   "stack_user", "weight",	 "data_src",  "identifier",  "transaction",
	"regs_intr",   "phys_addr",  NULL,	 "cgroup",    "data_page_size",
	"code_page_size", "weight_struct",
};

static volatile uint64_t watched;

/* An event of a kind, or a reason why there is none. */
static bool make_event(unsigned int kind, struct perf_event_attr *ret, struct finding *why)
{
	int id;

	*ret = attr_sideband();
	switch (kind) {
	case 0:
		return true;
	case 1:
		*ret = attr_software(PERF_COUNT_SW_CPU_CLOCK);
		return true;
	case 2:
		*ret = attr_of(PERF_TYPE_BREAKPOINT, 0);
		ret->bp_type = HW_BREAKPOINT_W;
		ret->bp_addr = (uintptr_t)&watched;
		ret->bp_len = HW_BREAKPOINT_LEN_4;
		return true;
	case 3:
		if (!probe_has(REQUIRE_TRACEFS, why))
			return false;
		id = pm_tracepoint_id("sched", "sched_switch");
		if (id < 0)
			finding_set(why, ABSENT, "no sched:sched_switch (%s)", errno_name(id));
		*ret = attr_of(PERF_TYPE_TRACEPOINT, id);
		return id >= 0;
	default:
		if (!probe_has(REQUIRE_CPU_PMU, why))
			return false;
		*ret = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
		return true;
	}
}

static void ask_cell(unsigned int bit, unsigned int kind, const char *event)
{
	struct perf_event_attr with, without;
	struct finding finding = { .verdict = UNKNOWN };
	char name[64];

	if (make_event(kind, &with, &finding)) {
		with.sample_period = 100000;
		with.exclude_callchain_kernel = 1;
		without = with;
		with.sample_type = 1ull << bit;
		if (with.sample_type == PERF_SAMPLE_BRANCH_STACK)
			with.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
		if (with.sample_type == PERF_SAMPLE_REGS_USER)
			with.sample_regs_user = 1;
		if (with.sample_type == PERF_SAMPLE_REGS_INTR)
			with.sample_regs_intr = 1;
		if (with.sample_type == PERF_SAMPLE_STACK_USER)
			with.sample_stack_user = 64;
		probe_pair(&with, &without, 0, -1, fields[bit], &finding);
	}
	snprintf(name, sizeof(name), "%s.%s", fields[bit], event);
	fact_verdict(name, finding.verdict, finding.reason);
}

TEST(matrix)
{
	static const char *const events[] = { "dummy", "cpu_clock", "breakpoint", "tracepoint",
					      "hardware" };
	struct perf_event_attr plain = attr_sideband();

	close(must_open(&plain, 0, -1, -1, 0));
	for (unsigned int bit = 0; bit < sizeof(fields) / sizeof(*fields); bit++)
		for (unsigned int kind = 0; kind < 5 && fields[bit]; kind++)
			ask_cell(bit, kind, events[kind]);
}

TEST(internal_bit_refused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_type |= 1ull << 63;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "sample_type bit 63");
}

TEST(weights_exclude)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IP | PERF_SAMPLE_WEIGHT_STRUCT);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_IP);

	close(ask_open(&attr, &without, 0, -1, "WEIGHT_STRUCT"));
	attr.sample_type |= PERF_SAMPLE_WEIGHT;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "WEIGHT with WEIGHT_STRUCT");
}

PROBE_MAIN
