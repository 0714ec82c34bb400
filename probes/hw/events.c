/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of the ten generic hardware events are there, and do they count? A virtual PMU may open
 * them all and count zero for ever, or never be given a counter: worse than none, for nothing says
 * so. Observed: a loop with branches and memory traffic, the value, and how long it was counted.
 * A matrix: each event is a verdict of its own.
 */
#include "probe.h"
#include "core_pmu.h"
#include "finding.h"
#include "hardware.h"
#include <stdio.h>

#define EVENT(name, version)                                                                   \
	FACT(name, verdict, "-", "hardware event " #name " opens, runs, counts in a busy loop")  \
	SINCE(version)

PROBE(TITLE("generic hardware events")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(no_lies, "every event that opens also runs; what must count in a loop does")
      EVENT(cycles, "2.6.31")
      EVENT(instructions, "2.6.31")
      EVENT(cache_references, "2.6.31")
      EVENT(cache_misses, "2.6.31")
      EVENT(branches, "2.6.31")
      EVENT(branch_misses, "2.6.31")
      EVENT(bus_cycles, "2.6.31")
      EVENT(stalled_frontend, "3.0")
      EVENT(stalled_backend, "3.0")
      EVENT(ref_cycles, "3.3")
      FACT(pmu, string, "-", "name of the core PMU in sysfs")
      FACT(open, string, "-", "events that open")
      FACT(values, string, "-", "event=count of those that opened, for about 1 ms"))

/* What a loop cannot do without, on any machine. The rest may honestly be 0. */
static const struct {
	const char *name;
	bool must_count;
} events[] = {
	{ "cycles", true },	   { "instructions", true },  { "cache_references", false },
	{ "cache_misses", false }, { "branches", true },      { "branch_misses", false },
	{ "bus_cycles", true },	   { "stalled_frontend", false }, { "stalled_backend", false },
	{ "ref_cycles", true },
};
#define EVENTS (sizeof(events) / sizeof(*events))

static const struct perf_event_attr *hardware(uint64_t config)
{
	static struct perf_event_attr attr;

	attr = attr_of(PERF_TYPE_HARDWARE, config);
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return &attr;
}

static void work(void)
{
	static volatile uint32_t area[16384];

	for (uint32_t i = 0, odd = 1; i < 100000; i++) {
		odd = odd * 1103515245u + 12345u;
		if (odd & 0x10000)
			area[odd % 16384] += i;
	}
}

/* Why an event does not open: all of them (no PMU, policy), or this one alone. */
static void explain(uint64_t config, struct finding *ret)
{
	struct perf_event_attr asked = *hardware(config), control = attr_hardware();

	judge_pair_machine(&asked, &control, "this event", ret);
}

TEST(no_lies)
{
	struct finding finding, worst = { .verdict = YES };
	char open[256] = "", values[512] = "", name[128];
	uint64_t value;
	int opened = 0;

	require(REQUIRE_PERF);
	if (!try_open(hardware(PERF_COUNT_HW_INSTRUCTIONS))) {
		must_name_core(name, sizeof(name));
		fact_str("pmu", "%s", name);
	}
	for (size_t i = 0; i < EVENTS; i++) {
		int fd = pm_open(hardware(i), 0, -1, -1, 0);

		if (fd < 0) {
			explain(i, &finding);
		} else {
			judge_counter(fd, work, events[i].must_count, &value, &finding);
			close(fd);
			snprintf(open + strlen(open), sizeof(open) - strlen(open), "%s%s",
				 opened ? "," : "", events[i].name);
			snprintf(values + strlen(values), sizeof(values) - strlen(values),
				 "%s%s=%" PRIu64, opened++ ? " " : "", events[i].name,
				 value);
		}
		fact_verdict(events[i].name, finding.verdict, finding.reason);
		if (finding.verdict == BROKEN || worst.verdict == YES)
			worst = finding;
	}
	fact_str("open", "%s", opened ? open : "none");
	if (opened)
		fact_str("values", "%s", values);
	if (worst.verdict == BROKEN || !opened)
		say(&worst);
}

PROBE_MAIN
