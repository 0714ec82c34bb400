/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does a CPU number say that is none? A tool that trusts a wrong CPU list must be told.
 * Observed: EINVAL for a number beyond all possible CPUs and for -2, for a task and for all tasks,
 * before any question of permission; ENODEV for a possible CPU that is offline.
 */
#include "probe.h"

PROBE(TITLE("a CPU that is not there")
      SINCE("2.6.31")
      POINT(beyond_for_task, "EINVAL: pid 0 on a CPU that the kernel has no room for")
      POINT(beyond_for_all, "EINVAL: pid -1 on a CPU that the kernel has no room for")
      POINT(negative_for_task, "EINVAL: pid 0 on cpu -2")
      POINT(negative_for_all, "EINVAL: pid -1 on cpu -2")
      POINT(offline_for_all, "ENODEV: pid -1 on a CPU that is offline")
      POINT(offline_for_task, "pid 0 on a CPU that is offline opens and counts nothing"))

static void refuse(struct __test_metadata *_metadata, pid_t pid, int cpu, const char *what)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	hold_rule(pm_open(&attr, pid, cpu, -1, 0), EINVAL, BROKEN, what);
}

TEST(beyond_for_task)
{
	refuse(_metadata, 0, 1 << 20, "pid 0, cpu 1048576");
}

TEST(beyond_for_all)
{
	refuse(_metadata, -1, 1 << 20, "pid -1, cpu 1048576");
}

TEST(negative_for_task)
{
	refuse(_metadata, 0, -2, "pid 0, cpu -2");
}

TEST(negative_for_all)
{
	refuse(_metadata, -1, -2, "pid -1, cpu -2");
}

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

static int find_offline(struct __test_metadata *_metadata)
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

TEST(offline_for_all)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int cpu = find_offline(_metadata);

	close(must_open(&attr, -1, move_to_nth_cpu(0), -1, 0));
	hold_rule(pm_open(&attr, -1, cpu, -1, 0), ENODEV, BROKEN, "an offline CPU");
}

TEST(offline_for_task)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int cpu = find_offline(_metadata), fd;
	uint64_t gain;

	close(must_open(&attr, 0, move_to_nth_cpu(0), -1, 0));
	fd = pm_open(&attr, 0, cpu, -1, 0);
	if (fd == -ENODEV)
		say_no("ENODEV for an offline CPU, ok for an online one");
	ASSERT_LE(0, fd);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	gain = gain_of_faults(fd, NULL, 16);
	if (gain)
		broken("counted=%" PRIu64 " on CPU %d, which is offline", gain, cpu);
}

PROBE_MAIN
