/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding the PMU of the core by doing: a plain event is opened, and the thread goes from CPU to
 * CPU until the event gets time. See core_pmu.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdnoreturn.h>
#include <string.h>
#include <unistd.h>

#include "attrs.h"
#include "core_pmu.h"
#include "internal.h"
#include "open.h"
#include "say.h"
#include "task.h"
#include "workload.h"

#define FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define PATIENCE_NS 40000000	/* of the event's own enabled time; a clock may tick every 10 ms */

/* PMUs that say which CPUs they are for, and the one among them that is for a certain CPU. */
struct kinds {
	unsigned int cpu;
	bool listed;
	int count;
	char name[64], cpus[512];
};

static void compare_cpu(unsigned int cpu, void *context)
{
	struct kinds *kinds = context;

	kinds->listed |= cpu == kinds->cpu;
}

static bool is_listed(unsigned int cpu, void *context)
{
	struct kinds *kinds = context;

	kinds->cpu = cpu;
	kinds->listed = false;
	pm_cpulist_each(kinds->cpus, compare_cpu, kinds);
	return kinds->listed;
}

static int look_at(const char *name, void *context)
{
	struct kinds *kinds = context, one = { .count = 0 };
	char path[160];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%.60s/cpus", name);
	if (pm_read_text(path, one.cpus, sizeof(one.cpus)) <= 0)
		return 0;
	kinds->count++;
	if (!is_listed(kinds->cpu, &one))
		return 0;
	snprintf(kinds->name, sizeof(kinds->name), "%.60s", name);
	memcpy(kinds->cpus, one.cpus, sizeof(one.cpus));
	return 0;
}

/* Without privileges only events without the kernel may be opened; some PMUs count it always. */
static void must_leave_out_kernel(struct perf_event_attr attr, int error)
{
	if (!attr.exclude_kernel || (error != -EINVAL && error != -EOPNOTSUPP))
		return;
	attr.exclude_kernel = 0;
	error = pm_open(&attr, 0, -1, -1, 0);
	if (error == -EACCES || error == -EPERM)
		say_absent("a PMU that can leave out the kernel: all else is refused here");
	if (error >= 0)
		close(error);
}

/* Instructions, or cycles where there are none. Ends the test where neither can be had. */
static int open_plain_counter(void)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	attr.disabled = 0;
	attr.read_format = FORMAT;
	require(REQUIRE_PERF | REQUIRE_CPU_PMU);
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		return fd;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		return fd;
	must_leave_out_kernel(attr, fd);
	return must_open(&attr, 0, -1, -1, 0);
}

/* Whether the event gets time where this thread is now. */
static bool gets_time(int fd)
{
	struct pm_counts before = { .nr = 0 }, counts = { .nr = 0 };
	int error = pm_read_counts(fd, FORMAT, &before);

	for (int tries = 0; tries < 100 && !error; tries++) {
		wake_and_spin(NULL);
		error = pm_read_counts(fd, FORMAT, &counts);
		if (counts.time_running > before.time_running)
			return true;
		if (counts.time_enabled - before.time_enabled > PATIENCE_NS)
			break;
	}
	return false;
}

static noreturn void say_no_counter(void)
{
	say_unknown("a plain hardware event opens and gets no counter: others may hold them all");
}

/* The kinds, with the one that the event landed on; the thread stays on its CPUs. */
static struct kinds find_kind(int fd)
{
	struct kinds kinds = { .count = 0 };
	int cpu;

	pm_pmu_each(look_at, &kinds);
	if (!kinds.count) {	/* no PMU lists its CPUs: it runs anywhere or nowhere */
		if (!gets_time(fd))
			say_no_counter();
		return kinds;
	}
	for (unsigned int nth = 0; (cpu = move_to_nth_cpu(nth)) >= 0; nth++) {
		kinds = (struct kinds){ .cpu = cpu };
		pm_pmu_each(look_at, &kinds);
		if (!kinds.cpus[0] || !gets_time(fd))
			continue;
		move_to_cpus(is_listed, &kinds);
		return kinds;
	}
	say_no_counter();
}

void must_have_counters(void)
{
	int fd = open_plain_counter();

	find_kind(fd);
	close(fd);
}

void must_name_core(char *name, size_t size)
{
	int fd = open_plain_counter();
	struct kinds kinds = find_kind(fd);

	close(fd);
	if (kinds.count > 1)
		snprintf(name, size, "%s", kinds.name);
	else if (pm_pmu_core(name, size) < 0)
		say_absent("no hardware PMU of the CPU");
}

int core_of_cpu(unsigned int cpu)
{
	struct kinds kinds = { .cpu = cpu };

	pm_pmu_each(look_at, &kinds);
	return kinds.name[0] ? pm_pmu_type(kinds.name) : -1;
}

void must_have_run(void)
{
	int fd = open_plain_counter();

	if (!gets_time(fd))
		say_no_counter();
	close(fd);
}
