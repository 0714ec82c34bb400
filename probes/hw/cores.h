/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What probes about cores of several kinds share: PMUs that name their CPUs, a loop to count.
 * Included behind probe.h.
 */
#ifndef CORES_H
#define CORES_H

#define MOST 8

static struct {
	char name[64];
	char cpus[256];
} kinds[MOST];
static int kind_count;

static int remember_kind(const char *name, void *unused)
{
	char path[192];

	(void)unused;
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%.60s/cpus", name);
	if (kind_count < MOST && pm_read_text(path, kinds[kind_count].cpus,
					      sizeof(kinds[0].cpus)) > 0)
		snprintf(kinds[kind_count++].name, sizeof(kinds[0].name), "%.60s", name);
	return 0;
}

static uint64_t core_type(void)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	char name[64];

	close(must_open(&attr, 0, -1, -1, 0));
	require(REQUIRE_CPU_PMU);
	ASSERT_EQ(0, pm_pmu_core(name, sizeof(name)));
	return pm_pmu_type(name);
}

static uint64_t count_loop(int fd)
{
	uint64_t before = must_count(fd);

	spin_ns(2000000);
	return must_count(fd) - before;
}

#endif
