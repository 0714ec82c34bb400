/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding the PMU of the core by doing: a plain event is opened, and the thread goes from CPU to
 * CPU until the event gets time. See core_pmu.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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
	if (pm_read_text(path, one.cpus, sizeof(one.cpus)) < 0)
		return 0;
	kinds->count++;		/* with an empty list, too: one for CPUs that are not there */
	if (!is_listed(kinds->cpu, &one))
		return 0;
	snprintf(kinds->name, sizeof(kinds->name), "%.60s", name);
	memcpy(kinds->cpus, one.cpus, sizeof(one.cpus));
	return 0;
}

static void read_pmu_file(const char *pmu, const char *folder, const char *name, char *text,
			  size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/%s/%s", pmu, folder, name);
	text[0] = '\0';
	pm_read_text(path, text, size);
}

/* The file holds terms such as "event=0xc0,umask=0x01"; files in format/ say where each belongs. */
int place_event(const char *pmu, const char *name, struct perf_event_attr *attr)
{
	char terms[128], *rest = NULL;

	*attr = attr_of((uint32_t)pm_pmu_type(pmu), 0);
	read_pmu_file(pmu, "events", name, terms, sizeof(terms));
	if (!terms[0])
		return -ENOENT;
	for (char *term = terms; (term = strtok_r(term, ",\n", &rest)); term = NULL) {
		char format[64], *value = strchr(term, '=');
		int error;

		if (value)
			*value++ = '\0';
		read_pmu_file(pmu, "format", term, format, sizeof(format));
		error = pm_pmu_place(format, value ? strtoull(value, NULL, 0) : 1, attr);
		if (error < 0)
			return error;
	}
	return 0;
}

static bool opens(struct perf_event_attr attr)
{
	const int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

struct perf_event_attr attr_core(uint64_t config)
{
	static const struct { uint64_t config; const char *name; } names[] = {
		{ PERF_COUNT_HW_CPU_CYCLES, "cpu-cycles" },
		{ PERF_COUNT_HW_CPU_CYCLES, "cpu_cycles" },
		{ PERF_COUNT_HW_CPU_CYCLES, "cycles" },
		{ PERF_COUNT_HW_INSTRUCTIONS, "instructions" },
		{ PERF_COUNT_HW_INSTRUCTIONS, "inst_retired" },
		{ PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branch-instructions" },
		{ PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "br_retired" },
	};
	const struct perf_event_attr generic = attr_of(PERF_TYPE_HARDWARE, config);
	struct perf_event_attr named;
	char pmu[64];

	if (opens(generic) || pm_pmu_core(pmu, sizeof(pmu)) < 0)
		return generic;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].config == config && !place_event(pmu, names[i].name, &named) &&
		    opens(named))
			return named;
	return generic;
}

/* Instructions, or cycles where there are none. Ends the test where neither can be had. */
static int open_plain_counter(void)
{
	static const uint64_t configs[] = { PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES };
	struct perf_event_attr attr;
	int fd;

	require(REQUIRE_PERF | REQUIRE_CPU_PMU);
	for (size_t i = 0; i < 2; i++) {
		attr = attr_core(configs[i]);
		attr.disabled = 0;
		attr.read_format = FORMAT;
		fd = pm_open(&attr, 0, -1, -1, 0);
		if (fd >= 0)
			return fd;
	}
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
	int cpu, listed = 0;

	pm_pmu_each(look_at, &kinds);
	if (!kinds.count) {	/* no PMU lists its CPUs: it runs anywhere or nowhere */
		if (!gets_time(fd))
			say_no_counter();
		return kinds;
	}
	for (unsigned int nth = 0; (cpu = move_to_nth_cpu(nth)) >= 0; nth++) {
		kinds = (struct kinds){ .cpu = cpu };
		pm_pmu_each(look_at, &kinds);
		listed += kinds.cpus[0] != '\0';
		if (!kinds.cpus[0] || !gets_time(fd))
			continue;
		move_to_cpus(is_listed, &kinds);
		return kinds;
	}
	if (!listed)
		say_absent("a hardware PMU for a CPU that this thread may use");
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
