/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which sample fields does which kind of event accept? Other probes of this area look at what the
 * fields then hold.
 * Observed: each field is asked for alone, with the attributes it needs, of an event that is
 * accepted without it. cpu-clock and breakpoints are then sampled: with one field in it, a sample
 * is longer than a bare header. AUX needs a group leader with an AUX area: see aux.leader_rules.
 */
#include "probe.h"
#include "breakpoint.h"
#include "finding.h"
#include "tracepoint.h"
#include <stdio.h>

#define EACH_EVENT(field, version) \
	FACT(field.dummy, verdict, "-", #field " is accepted by the dummy event") SINCE(version) \
	FACT(field.cpu_clock, verdict, "-", #field " is accepted by cpu-clock") SINCE(version) \
	FACT(field.breakpoint, verdict, "-", #field " is accepted by a breakpoint") SINCE(version) \
	FACT(field.tracepoint, verdict, "-", #field " is accepted by a tracepoint") SINCE(version) \
	FACT(field.hardware, verdict, "-", #field " is accepted by hardware cycles") SINCE(version)

PROBE(TITLE("sample fields by kind of event")
      SINCE("2.6.33")
      POINT(matrix, "each sample field was asked of each kind of event, and none is taken in vain")
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

enum { DUMMY, CPU_CLOCK, BREAKPOINT, TRACEPOINT };

static volatile uint64_t watched;

/* An event of a kind, or a reason why there is none. */
static bool make_event(unsigned int kind, struct perf_event_attr *ret, struct finding *why)
{
	int id;

	*ret = attr_sideband();
	switch (kind) {
	case DUMMY:
		return true;
	case CPU_CLOCK:
		*ret = attr_software(PERF_COUNT_SW_CPU_CLOCK);
		return true;
	case BREAKPOINT:
		*ret = attr_access(HW_BREAKPOINT_W, &watched, 4);
		return true;
	case TRACEPOINT:
		id = tracepoint_id("sched", "sched_switch");
		*ret = attr_of(PERF_TYPE_TRACEPOINT, id);
		if (id >= 0 || !has_all(REQUIRE_TRACEFS, why))
			return id >= 0;
		if (id == -EACCES || id == -EPERM)
			finding_set(why, BLOCKED,
				    "the id of sched:sched_switch is not readable for this user");
		else
			finding_set(why, ABSENT, "no sched:sched_switch (%s)", pm_errno_name(id));
		return false;
	default:
		if (!has_all(REQUIRE_CPU_PMU, why))
			return false;
		*ret = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
		return true;
	}
}

/* Whether a sample of an event that was accepted has the field: more than a bare header. */
static void see_sample(const struct perf_event_attr *attr, unsigned int kind, struct finding *ret)
{
	const uint64_t end = now_ns() + 2000000000;
	const struct perf_event_header *header;
	int fd = pm_open(attr, 0, -1, -1, 0);
	struct pm_ring ring;

	if (pm_ring_open(fd, 1, PROT_READ | PROT_WRITE, &ring)) {
		finding_set(ret, UNKNOWN, "no ring of one page");
	} else {
		pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		do
			watched = kind;
		while (!pm_ring_pending(&ring) && kind == CPU_CLOCK && now_ns() < end);
		pm_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		if (pm_ring_next(&ring, &header) != 1)
			finding_set(ret, BROKEN, "accepted, but there is no sample");
		else if (header->size <= sizeof(*header))
			finding_set(ret, BROKEN, "accepted, but the sample is %u bytes long",
				    header->size);
		pm_ring_close(&ring);
	}
	close(fd);
}

static void ask_cell(unsigned int bit, unsigned int kind, const char *event,
		     struct finding *worst)
{
	struct perf_event_attr with, without;
	struct finding finding = { .verdict = UNKNOWN };
	char name[64];

	if (make_event(kind, &with, &finding)) {
		with.sample_period = kind == BREAKPOINT ? 1 : 100000;
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
		judge_pair(&with, &without, 0, -1, fields[bit], &finding);
		if (finding.verdict == YES && (kind == CPU_CLOCK || kind == BREAKPOINT))
			see_sample(&with, kind, &finding);
	}
	snprintf(name, sizeof(name), "%s.%s", fields[bit], event);
	fact_verdict(name, finding.verdict, finding.reason);
	/* A breakpoint that others hold was not asked. */
	if (finding.verdict == BROKEN ||
	    (finding.verdict == UNKNOWN && kind == BREAKPOINT && worst->verdict == YES))
		*worst = finding;
}

/*
 * Keeps the tracepoint in use: the kernel waits tens of milliseconds for a grace period whenever
 * the last event of one goes. Whether it opens at all is asked later.
 */
static void expect_tracepoint(void)
{
	struct perf_event_attr attr;
	struct finding unused;

	if (make_event(TRACEPOINT, &attr, &unused))
		pm_open(&attr, 0, -1, -1, 0);
}

TEST(matrix)
{
	static const char *const events[] = { "dummy", "cpu_clock", "breakpoint", "tracepoint",
					      "hardware" };
	struct perf_event_attr plain = attr_sideband();
	struct finding worst = { .verdict = YES };

	close(must_open(&plain, 0, -1, -1, 0));
	expect_tracepoint();
	for (unsigned int bit = 0; bit < sizeof(fields) / sizeof(*fields); bit++)
		for (unsigned int kind = 0; kind < 5 && fields[bit]; kind++)
			ask_cell(bit, kind, events[kind], &worst);
	if (worst.verdict != YES)
		say(&worst);
}

PROBE_MAIN
