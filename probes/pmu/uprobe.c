/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can functions of a program be counted without tracefs, by file and offset? Observed: calls of a
 * function of this very program, its returns, the counter in memory that tells a program it is
 * being watched; and what is refused.
 * Linux 33ea4b24277b ("perf/core: Implement the 'perf_uprobe' PMU") (v4.17)
 */
#include "probe.h"
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("uprobes as events")
      SINCE("4.17")
      COMMIT("33ea4b24277b")
      NEEDS("uprobe")
      POINT(counts, "9 calls of a function are 9 counts")
      POINT(user_only, "with exclude_kernel the 9 calls are counted as well")
      POINT(returns, "with the retprobe bit 9 returns are 9 counts")
      POINT(removed, "after close the function runs as before, and nothing stays behind")
      POINT(reference, "a reference counter is 1 while the event is open and 0 after")
      SINCE("4.20")
      POINT(no_file, "a path that is not there is refused with ENOENT")
      POINT(no_pointer, "an unreadable path is refused with EFAULT or EINVAL")
      POINT(unprivileged, "without privilege it is refused with EACCES or EPERM")
      FACT(type, int, "-", "the PMU's type"))

static volatile int32_t sink;
/* Initialised, so that it has a place in the file. */
static volatile uint16_t semaphore __attribute__((aligned(8))) = 0x100;

static int __attribute__((noinline)) watched_function(int value)
{
	sink += value;
	__asm__ volatile("" ::: "memory");
	return sink;
}

static void call_nine_times(void)
{
	for (int i = 0; i < 9; i++)
		watched_function(i);
}

/* Where in the file of this program an address lies, by the mapping that holds it. */
static uint64_t file_offset(const volatile void *pointer)
{
	uintptr_t address = (uintptr_t)pointer & ~(uintptr_t)0;
	unsigned long from, to, offset;
	uint64_t found = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

#ifdef __arm__
	address &= ~1ul;
#endif
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 &&
		    address >= from && address < to && strchr(line, '/'))
			found = address - from + offset;
	if (maps)
		fclose(maps);
	return found;
}

static struct perf_event_attr uprobe(struct __test_metadata *_metadata, uint64_t config)
{
	static char path[512];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int type = pm_pmu_type("uprobe");
	struct perf_event_attr attr = attr_of(type, config);

	require(REQUIRE_PERF);
	if (type < 0)
		say_absent("no uprobe PMU (%s)", errno_name(type));
	ASSERT_LT(0, length);
	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = file_offset((const volatile void *)(uintptr_t)watched_function);
	attr.exclude_kernel = attr.disabled = 0;
	if (!attr.probe_offset)
		cannot_tell("the function is not in a mapped file");
	return attr;
}

static int open_uprobe(struct __test_metadata *_metadata, const struct perf_event_attr *attr)
{
	int fd = pm_open(attr, 0, -1, -1, 0);

	if (fd == -EIO || fd == -ENOTSUP)
		say_absent("no uprobe can be placed in this program (%s)", errno_name(fd));
	return fd >= 0 ? fd : must_open(attr, 0, -1, -1, 0);
}

static void want_nine(struct __test_metadata *_metadata, const struct perf_event_attr *attr)
{
	int fd = open_uprobe(_metadata, attr);
	uint64_t count;

	call_nine_times();
	count = must_count(fd);
	if (count != 9)
		broken("counted=%" PRIu64 " want=9", count);
}

TEST(counts)
{
	struct perf_event_attr attr = uprobe(_metadata, 0);

	fact_int("type", attr.type);
	want_nine(_metadata, &attr);
}

TEST(user_only)
{
	struct perf_event_attr attr = uprobe(_metadata, 0);

	attr.exclude_kernel = 1;
	want_nine(_metadata, &attr);
}

TEST(returns)
{
	char text[64];
	struct perf_event_attr attr = uprobe(_metadata, 0);

	ASSERT_LT(0, pm_read_text("/sys/bus/event_source/devices/uprobe/format/retprobe", text,
				  sizeof(text)));
	ASSERT_EQ(0, pm_pmu_place(text, 1, &attr));
	want_nine(_metadata, &attr);
}

TEST(removed)
{
	struct perf_event_attr attr = uprobe(_metadata, 0);
	const volatile unsigned char *code = (const unsigned char *)(uintptr_t)watched_function;
	unsigned char before[8], during[8], after[8];
	int fd;

#ifdef __arm__
	code = (const unsigned char *)((uintptr_t)code & ~1ul);
#endif
	for (int i = 0; i < 8; i++)
		before[i] = code[i];
	fd = open_uprobe(_metadata, &attr);
	for (int i = 0; i < 8; i++)
		during[i] = code[i];
	close(fd);
	for (int i = 0; i < 8; i++)
		after[i] = code[i];
	call_nine_times();
	if (!memcmp(before, during, 8))
		broken("no breakpoint instruction in the code while the event is open");
	if (memcmp(before, after, 8))
		broken("the code is not as it was before");
}

TEST(reference)
{
	struct perf_event_attr plain = uprobe(_metadata, 0), attr = plain;
	char text[64];
	uint16_t idle = semaphore, open, closed;
	int fd;

	close(open_uprobe(_metadata, &plain));
	if (pm_read_text("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", text,
			 sizeof(text)) < 0)
		say_no("sysfs has no format ref_ctr_offset for uprobes");
	ASSERT_EQ(0, pm_pmu_place(text, file_offset(&semaphore), &attr));
	fd = ask_open(&attr, &plain, 0, -1, "a reference counter");
	open = semaphore;
	close(fd);
	closed = semaphore;
	if (open != idle + 1 || closed != idle)
		broken("idle=%u open=%u want=%u closed=%u want=%u", idle, open, idle + 1, closed,
		       idle);
}

TEST(no_file)
{
	struct perf_event_attr attr = uprobe(_metadata, 0);

	close(open_uprobe(_metadata, &attr));
	attr.uprobe_path = (uintptr_t)"/perfmodes/has/no/such/file";
	hold_rule(pm_open(&attr, 0, -1, -1, 0), ENOENT, BROKEN, "a path that is not there");
}

TEST(no_pointer)
{
	struct perf_event_attr attr = uprobe(_metadata, 0);
	int fd;

	close(open_uprobe(_metadata, &attr));
	attr.uprobe_path = 8;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd != -EFAULT && fd != -EINVAL)
		broken("answer=%s want=EFAULT or EINVAL", errno_name(fd < 0 ? fd : 0));
}

static int open_as_stranger(void *argument)
{
	const struct perf_event_attr faults = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr *attr = argument;
	int fd;

	attr->exclude_kernel = 1;
	if (drop_privileges(65531) || pm_open(&faults, 0, -1, -1, 0) < 0)
		return 201;
	fd = pm_open(attr, 0, -1, -1, 0);
	return fd < 0 ? -fd : 200;
}

TEST(unprivileged)
{
	struct perf_event_attr attr = uprobe(_metadata, 0);
	int answer = wait_child(start_child(open_as_stranger, &attr));

	if (answer == 201)
		say_blocked("without privilege there are no events at all");
	if (answer != EACCES && answer != EPERM)
		broken("answer=%s want=EACCES or EPERM", answer == 200 ? "ok" : errno_name(answer));
}

PROBE_MAIN
