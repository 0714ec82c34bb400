/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can the PMU's own event numbers be used? sysfs describes them as terms and bit ranges; tools put
 * the numbers together. Observed: an event that sysfs names, opened by the PMU's type and, where
 * that is the core PMU, by PERF_TYPE_RAW.
 */
#include "probe.h"
#include "core_pmu.h"
#include "finding.h"

PROBE(TITLE("raw events of the core PMU")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(named, "an event from the PMU's events folder opens and counts")
      POINT(raw_type, "the same number opens and counts as PERF_TYPE_RAW")
      FACT(term, string, "-", "the event that was tried")
      FACT(all_bits, enum, "-", "config with all bits set: the errno, or `accepted`"))

static const char *const candidates[] = { "instructions", "inst_retired", "cpu-cycles",
					  "cpu_cycles", "cycles", "CPU_CYCLES" };

static struct perf_event_attr named_event(void)
{
	struct perf_event_attr attr;
	char pmu[64];

	must_name_core(pmu, sizeof(pmu));
	for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
		if (place_event(pmu, candidates[i], &attr) < 0)
			continue;
		fact_str("term", "%s/%s config=%#" PRIx64, pmu, candidates[i], attr.config);
		return attr;
	}
	say_absent("%s names none of the events every PMU has", pmu);
}

static void must_grow(int fd)
{
	const uint64_t end = now_ns() + 100000000;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	do
		spin_ns(1000000);
	while (!must_count(fd) && now_ns() < end);
	if (must_count(fd))
		return;
	must_have_run();
	say_broken("opens but counts 0 in 100 ms");
}

TEST(named)
{
	struct perf_event_attr attr = named_event();

	must_grow(must_open(&attr, 0, -1, -1, 0));
}

TEST(raw_type)
{
	struct perf_event_attr attr = named_event(), raw = attr;

	raw.type = PERF_TYPE_RAW;
	must_grow(ask_open(&raw, &attr, 0, -1, "PERF_TYPE_RAW"));
	/* Some drivers look at the bits they know and let the others be. */
	raw.config = ~UINT64_C(0);
	fact_str("all_bits", "%s", try_open(&raw) ? pm_errno_name(try_open(&raw)) : "accepted");
}

PROBE_MAIN
