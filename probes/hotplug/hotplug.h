/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU that a probe of hotplug may switch off: the last one this task may use. It is put back
 * when the program ends, whatever happens. Included behind probe.h.
 */
#ifndef HOTPLUG_H
#define HOTPLUG_H

#include "privilege.h"

#include <stdio.h>

/* The first CPU that goes after a start may take its time: over 10 s on an emulated riscv64. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 30

static char switch_path[80];
static int target = -1, target_nth;

/* The last CPU this task may use, if it has a switch. */
static void __attribute__((constructor)) choose_cpu(void)
{
	cpu_set_t set;

	target_nth = count_cpus() - 1;
	if (target_nth < 1 || sched_getaffinity(0, sizeof(set), &set))
		return;
	for (int cpu = CPU_SETSIZE - 1; cpu > 0 && target < 0; cpu--)
		if (CPU_ISSET(cpu, &set))
			target = cpu;
	snprintf(switch_path, sizeof(switch_path), "/sys/devices/system/cpu/cpu%d/online", target);
	restore_at_exit(switch_path);
}

/* Take the CPU away or bring it back, from the first one. */
static inline void must_switch(bool on)
{
	int error = move_to_nth_cpu(0);
	int64_t state = -1;

	if (error >= 0)
		error = write_file(switch_path, on ? "1" : "0");
	if (error && on)
		say_unknown("CPU %d does not come back: %s", target, pm_errno_name(error));
	if (error)
		say_blocked("CPU %d cannot be taken offline: %s", target, pm_errno_name(error));
	if (pm_read_number(switch_path, &state) || state != on)
		say_unknown("CPU %d is %s after the write", target, state ? "online" : "offline");
}

static inline void require_hotplug(void)
{
	require(REQUIRE_CPU2 | REQUIRE_ROOT);
	if (target < 0 || access(switch_path, W_OK))
		say_absent("no CPU here can be switched off");
	write_file(switch_path, "1");	/* an earlier test may have ended in between */
}

/* For events of this task: open one, and count ten faults on the nth CPU. */
static inline int open_faults(int cpu)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	return must_open(&attr, 0, cpu, -1, 0);
}

static inline uint64_t count_ten(int fd, int nth)
{
	uint64_t before;

	ASSERT_LE(0, move_to_nth_cpu(nth));
	before = must_count(fd);
	ASSERT_EQ(0, cause_faults(10));
	return must_count(fd) - before;
}

/* For events on the CPU. */
static inline struct sampler watch_cpu(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	require_hotplug();
	return must_run_sampler(&attr, -1, target, 64);
}

/* Faults of this task on the CPU; how many of them the event counts, at least. */
static inline uint64_t count_there(int fd)
{
	uint64_t before = must_count(fd);

	ASSERT_EQ(target, move_to_nth_cpu(target_nth));
	ASSERT_EQ(0, cause_faults(50));
	return must_count(fd) - before;
}

#endif
