/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events to open. See attrs.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attrs.h"

static struct perf_event_attr attr_excluding(uint32_t type, uint64_t config, bool exclude)
{
	return (struct perf_event_attr){
		.type = type,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = exclude,
		.exclude_hv = exclude,
	};
}

/* A PMU that counts whatever runs says EINVAL to the wish to leave something out. */
static bool core_can_exclude(void)
{
	static int answer = -1;
	struct perf_event_attr attr;

	if (answer < 0) {
		attr = attr_excluding(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true);
		answer = try_open(&attr) != -EINVAL;
	}
	return answer;
}

struct perf_event_attr attr_of(uint32_t type, uint64_t config)
{
	const bool core = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE ||
			  type == PERF_TYPE_RAW;

	return attr_excluding(type, config, !core || core_can_exclude());
}

struct perf_event_attr attr_software(uint64_t config)
{
	return attr_of(PERF_TYPE_SOFTWARE, config);
}

struct perf_event_attr attr_counter(bool inherit)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	attr.inherit = inherit;
	return attr;
}

struct perf_event_attr attr_faults(uint64_t sample_type)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.sample_type = sample_type;
	return attr;
}

struct perf_event_attr attr_hardware(void)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd < 0)
		attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	else
		close(fd);
	return attr;
}

struct perf_event_attr attr_sideband(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_DUMMY);
	int fd = pm_open(&attr, 0, -1, -1, 0);

	if (fd == -ENOENT || fd == -EINVAL)	/* before v3.12: any counter carries side-band */
		attr.config = PERF_COUNT_SW_CPU_MIGRATIONS;
	if (fd >= 0)
		close(fd);
	return attr;
}

struct perf_event_attr attr_access(uint32_t bp_type, const volatile void *address, uint64_t length)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = bp_type;
	attr.bp_addr = (uintptr_t)address;
	attr.bp_len = length;
	return attr;
}

/*
 * The length is a word on x86, the kernel's word and not the program's; on arm the instruction's,
 * which the lowest bit of the address tells. The rest takes a word.
 */
struct perf_event_attr attr_call(void (*function)(void))
{
	uintptr_t address = (uintptr_t)function;
	struct perf_event_attr attr;
	int fd;

#ifdef __arm__
	attr = attr_access(HW_BREAKPOINT_X, (void *)(address & ~1ul), address & 1 ? 2 : 4);
#else
	attr = attr_access(HW_BREAKPOINT_X, (void *)address, sizeof(long));
#endif
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd == -EINVAL && attr.bp_len == 4)
		attr.bp_len = 8;
	if (fd >= 0)
		close(fd);
	return attr;
}

int try_open(const struct perf_event_attr *attr)
{
	int fd = pm_open(attr, 0, -1, -1, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

void slots_fill(struct slots *slots, pid_t tid)
{
	slots->count = slots->error = 0;
	while (slots->count < SLOTS_MOST) {
		struct perf_event_attr attr =
			attr_access(HW_BREAKPOINT_W, &slots->words[slots->count], 4);
		int fd;

		attr.disabled = 0;
		fd = pm_open(&attr, tid, -1, -1, 0);
		if (fd < 0) {
			slots->error = -fd;
			return;
		}
		slots->fds[slots->count++] = fd;
	}
}

void slots_close(struct slots *slots)
{
	while (slots->count > 0)
		close(slots->fds[--slots->count]);
}

int count_free_breakpoints(pid_t tid)
{
	static struct slots slots;
	int count;

	slots_fill(&slots, tid);
	count = slots.count;
	slots_close(&slots);
	return count;
}

int modify_breakpoint(int fd, const struct perf_event_attr *attr)
{
	struct perf_event_attr sized = *attr;

	sized.size = pm_attr_size_needed(attr);
	return pm_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&sized);
}

uint64_t file_offset(const volatile void *pointer)
{
	uintptr_t address = (uintptr_t)pointer;
	unsigned long from, to, offset;
	uint64_t found = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 &&
		    address >= from && address < to && strchr(line, '/'))
			found = address - from + offset;
	if (maps)
		fclose(maps);
	return found;
}
