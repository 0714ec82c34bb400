/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does the kernel answer for an event on a CPU that is offline? A tool that opens one event
 * per CPU from an outdated list must be told.
 * Observed: ENODEV for all tasks of a CPU that is present and offline; for a single task, an event
 * that opens and counts nothing.
 */
#include "probe.h"

PROBE(TITLE("a CPU that is offline")
      SINCE("2.6.31")
      POINT(for_all, "ENODEV: pid -1 on a CPU that is offline")
      POINT(for_task, "pid 0 on a CPU that is offline opens and counts nothing"))

static int seen_cpu;

static void remember(unsigned int cpu, void *context)
{
	bool *online = context;

	if (online && cpu < 4096)
		online[cpu] = true;
}

static void pick_offline(unsigned int cpu, void *context)
{
	const bool *online = context;

	if (cpu < 4096 && !online[cpu])
		seen_cpu = (int)cpu;
}

static int find_offline(void)
{
	static bool online[4096];
	char text[4096];

	seen_cpu = -1;
	if (pm_read_text("/sys/devices/system/cpu/online", text, sizeof(text)) > 0 &&
	    pm_cpulist_each(text, remember, online) > 0 &&
	    pm_read_text("/sys/devices/system/cpu/present", text, sizeof(text)) > 0)
		pm_cpulist_each(text, pick_offline, online);
	if (seen_cpu < 0)
		say_absent("no CPU is present and offline");
	return seen_cpu;
}

TEST(for_all)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int cpu = find_offline();

	close(must_open(&attr, -1, move_to_nth_cpu(0), -1, 0));
	expect_refused(pm_open(&attr, -1, cpu, -1, 0), ENODEV, BROKEN, "an offline CPU");
}

TEST(for_task)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int cpu = find_offline(), fd;
	uint64_t gain;

	close(must_open(&attr, 0, move_to_nth_cpu(0), -1, 0));
	fd = pm_open(&attr, 0, cpu, -1, 0);
	if (fd == -ENODEV)
		say_no("ENODEV for an offline CPU, ok for an online one");
	ASSERT_LE(0, fd);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	gain = gain_of_faults(fd, NULL, 16);
	if (gain)
		say_broken("counted=%" PRIu64 " on CPU %d, which is offline", gain, cpu);
}

PROBE_MAIN
