/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of the 42 generic cache events are there, and do they run? The kernel keeps one table a
 * CPU model; emulators fill in what they like. Observed: each of 7 caches x 3 operations x 2
 * results is opened and run over work that reads and writes memory. A matrix: each cell is a
 * verdict. Ids outside of the three lists must be refused.
 */
#include "probe.h"
#include <stdio.h>

#define CELL(name) FACT(name, verdict, "-", "cache event " #name " opens and runs")
#define CELLS(cache)                                                                           \
	CELL(cache.read.access) CELL(cache.read.miss) CELL(cache.write.access)                 \
	CELL(cache.write.miss) CELL(cache.prefetch.access) CELL(cache.prefetch.miss)

PROBE(TITLE("generic cache events")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(no_lies, "every cell that opens also runs, and L1D reads are not 0 where they open")
      POINT(bad_cache, "cache id 7 is refused with EINVAL")
      POINT(bad_operation, "operation 3 is refused with EINVAL")
      POINT(bad_result, "result 2 is refused with EINVAL")
      CELLS(l1d) CELLS(l1i) CELLS(ll) CELLS(dtlb) CELLS(itlb) CELLS(bpu) CELLS(node)
      FACT(open, int, "cells", "cache events that open")
      FACT(values, string, "-", "cell=count of those that are not 0"))

static const char *const caches[] = { "l1d", "l1i", "ll", "dtlb", "itlb", "bpu", "node" };
static const char *const operations[] = { "read", "write", "prefetch" };
static const char *const results[] = { "access", "miss" };
#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static struct perf_event_attr cache_event(unsigned int cache, unsigned int operation,
					  unsigned int result)
{
	struct perf_event_attr attr =
		attr_of(PERF_TYPE_HW_CACHE, cache | operation << 8 | result << 16);

	attr.read_format = TIMES;
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

static void run(int fd, bool must_count, uint64_t *value, struct finding *ret)
{
	const uint64_t end = now_ns() + 50000000;
	int error = pm_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	struct pm_counts counts = { 0 };

	do {
		work();
		if (error >= 0)
			error = pm_read_counts(fd, TIMES, &counts);
	} while (error >= 0 && now_ns() < end &&
		 (!counts.time_running || (must_count && !counts.member[0].value)));
	*value = counts.member[0].value;
	finding_set(ret, YES, "%s", "");
	if (error < 0)
		finding_set(ret, UNKNOWN, "reading: %s", errno_name(error));
	else if (!counts.time_running)
		finding_set(ret, BROKEN, "opens but never runs: enabled=%" PRIu64 " ns, running=0",
			    counts.time_enabled);
	else if (must_count && !*value)
		finding_set(ret, BROKEN, "opens but counts 0 of %" PRIu64 " ns of reading",
			    counts.time_running);
}

/* The twin that decides whether a refusal is about the cell or about everything. */
static struct perf_event_attr control_event(void)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd < 0)
		attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	else
		close(fd);
	return attr;
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
		control = control_event();
		probe_pair(&attr, &control, 0, -1, "this cell", ret);
		if (ret->verdict == NO)		/* the kernel knows it, this PMU has none */
			ret->verdict = ABSENT;
	} else {
		run(fd, index == 0, &value, ret);
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
	for (unsigned int i = 0; i < 42; i++) {
		open += try_cell(i, values, sizeof(values), &finding);
		if (finding.verdict == BROKEN || worst.verdict == YES)
			worst = finding;
	}
	fact_int("open", open);
	if (values[0])
		fact_str("values", "%s", values);
	if (worst.verdict == BROKEN || !open)
		speak(&worst);
}

static void refuse(struct __test_metadata *_metadata, const struct perf_event_attr *attr)
{
	struct perf_event_attr control = control_event();

	close(must_open(&control, 0, -1, -1, 0));
	hold_rule(pm_open(attr, 0, -1, -1, 0), EINVAL, BROKEN, "an id outside of the lists");
}

TEST(bad_cache)
{
	struct perf_event_attr attr = cache_event(PERF_COUNT_HW_CACHE_MAX, 0, 0);

	refuse(_metadata, &attr);
}

TEST(bad_operation)
{
	struct perf_event_attr attr = cache_event(0, PERF_COUNT_HW_CACHE_OP_MAX, 0);

	refuse(_metadata, &attr);
}

TEST(bad_result)
{
	struct perf_event_attr attr = cache_event(0, 0, PERF_COUNT_HW_CACHE_RESULT_MAX);

	refuse(_metadata, &attr);
}

PROBE_MAIN
