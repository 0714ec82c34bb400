/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of the 42 generic cache events are there, and do they run? The kernel keeps one table a
 * CPU model; emulators fill in what they like. Observed: each of 7 caches x 3 operations x 2
 * results is opened and run over work that reads and writes memory. A matrix: each cell is a
 * verdict.
 */
#include "probe.h"
#include "finding.h"
#include "hardware.h"
#include <stdio.h>

#define CELL(name) FACT(name, verdict, "-", "cache event " #name " opens and runs")
#define CELLS(cache)                                                                           \
	CELL(cache.read.access) CELL(cache.read.miss) CELL(cache.write.access)                 \
	CELL(cache.write.miss) CELL(cache.prefetch.access) CELL(cache.prefetch.miss)

PROBE(TITLE("generic cache events")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(no_lies, "every cell that opens also runs, and L1D reads are not 0 where they open")
      CELLS(l1d) CELLS(l1i) CELLS(ll) CELLS(dtlb) CELLS(itlb) CELLS(bpu) CELLS(node)
      FACT(open, int, "cells", "cache events that open")
      FACT(values, string, "-", "cell=count of those that are not 0"))

static const char *const caches[] = { "l1d", "l1i", "ll", "dtlb", "itlb", "bpu", "node" };
static const char *const operations[] = { "read", "write", "prefetch" };
static const char *const results[] = { "access", "miss" };

static struct perf_event_attr cache_event(unsigned int cache, unsigned int operation,
					  unsigned int result)
{
	struct perf_event_attr attr =
		attr_of(PERF_TYPE_HW_CACHE, cache | operation << 8 | result << 16);

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return attr;
}

static void work(void)
{
	static volatile uint32_t area[65536];

	for (uint32_t i = 0, odd = 1; i < 20000; i++) {
		odd = odd * 1103515245u + 12345u;
		area[(odd >> 8) % 65536] += odd & 0x10000 ? i : 1;
	}
}

/* One cell. Returns whether it opened. */
static bool try_cell(unsigned int index, char *values, size_t size, struct finding *ret)
{
	const unsigned int cache = index / 6, operation = index / 2 % 3, result = index % 2;
	struct perf_event_attr attr = cache_event(cache, operation, result), control;
	int fd = pm_open(&attr, 0, -1, -1, 0);
	uint64_t value;
	char name[32];

	snprintf(name, sizeof(name), "%s.%s.%s", caches[cache], operations[operation],
		 results[result]);
	if (fd < 0) {
		control = attr_hardware();
		judge_pair_machine(&attr, &control, "this cell", ret);
	} else {
		judge_counter(fd, work, index == 0, &value, ret);
		close(fd);
		if (value)
			snprintf(values + strlen(values), size - strlen(values), "%s%s=%" PRIu64,
				 values[0] ? " " : "", name, value);
	}
	fact_verdict(name, ret->verdict, ret->reason);
	return fd >= 0;
}

TEST(no_lies)
{
	struct finding finding, worst = { .verdict = YES };
	char values[640] = "";
	int open = 0;

	require(REQUIRE_PERF);
	stay_where_they_run();
	for (unsigned int i = 0; i < 42; i++) {
		open += try_cell(i, values, sizeof(values), &finding);
		if (finding.verdict == BROKEN || worst.verdict == YES)
			worst = finding;
	}
	fact_int("open", open);
	if (values[0])
		fact_str("values", "%s", values);
	if (worst.verdict == BROKEN || !open)
		say(&worst);
}

PROBE_MAIN
