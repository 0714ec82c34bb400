/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can functions of the kernel be counted without tracefs, by name? Observed: a function that every
 * write to a pipe passes, its returns, and what is refused.
 * Linux e12f03d7031a ("perf/core: Implement the 'perf_kprobe' PMU") (v4.17)
 */
#include "probe.h"

PROBE(TITLE("kprobes as events")
      SINCE("4.17")
      COMMIT("e12f03d7031a")
      NEEDS("kprobe")
      POINT(counts, "9 writes are 9 counts of vfs_write")
      POINT(returns, "with the retprobe bit 9 writes are 9 counts")
      POINT(user_only_zero, "with exclude_kernel it opens and reads 0")
      POINT(unknown_symbol, "a function that is not there is refused with ENOENT or EINVAL")
      POINT(inside_instruction, "an offset far beyond every function is refused")
      POINT(unprivileged, "without privilege it is refused with EACCES or EPERM")
      FACT(type, int, "-", "the PMU's type"))

static struct perf_event_attr kprobe(struct __test_metadata *_metadata)
{
	int type = pm_pmu_type("kprobe");
	struct perf_event_attr attr = attr_of(type, 0);

	require(REQUIRE_PERF);
	if (type < 0)
		say_absent("no kprobe PMU (%s)", errno_name(type));
	attr.kprobe_func = (uintptr_t)"vfs_write";
	attr.exclude_kernel = attr.disabled = 0;
	return attr;
}

static uint64_t count_writes(struct __test_metadata *_metadata, const struct perf_event_attr *attr)
{
	int pipes[2], fd = must_open(attr, 0, -1, -1, 0);
	uint64_t before;

	ASSERT_EQ(0, pipe(pipes));
	before = must_count(fd);
	for (int i = 0; i < 9; i++)
		ASSERT_EQ(1, write(pipes[1], "", 1));
	return must_count(fd) - before;
}

TEST(counts)
{
	struct perf_event_attr attr = kprobe(_metadata);
	uint64_t count = count_writes(_metadata, &attr);

	fact_int("type", attr.type);
	if (count != 9)
		broken("counted=%" PRIu64 " want=9", count);
}

TEST(returns)
{
	struct perf_event_attr attr = kprobe(_metadata);
	uint64_t count;
	char text[64];

	ASSERT_LT(0, pm_read_text("/sys/bus/event_source/devices/kprobe/format/retprobe", text,
				  sizeof(text)));
	ASSERT_EQ(0, pm_pmu_place(text, 1, &attr));
	count = count_writes(_metadata, &attr);
	if (count != 9)
		broken("counted=%" PRIu64 " want=9", count);
}

TEST(user_only_zero)
{
	struct perf_event_attr attr = kprobe(_metadata);
	uint64_t count;

	attr.exclude_kernel = 1;
	count = count_writes(_metadata, &attr);
	if (count)
		say_no("counted %" PRIu64 " of 9 in user mode", count);
}

TEST(unknown_symbol)
{
	struct perf_event_attr attr = kprobe(_metadata);
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.kprobe_func = (uintptr_t)"perfmodes_has_no_such_function";
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd != -ENOENT && fd != -EINVAL)
		broken("answer=%s want=ENOENT or EINVAL", errno_name(fd < 0 ? fd : 0));
}

TEST(inside_instruction)
{
	struct perf_event_attr attr = kprobe(_metadata);
	int fd;

	close(must_open(&attr, 0, -1, -1, 0));
	attr.probe_offset = 0x10000001;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		broken("offset 0x10000001 is accepted");
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
	struct perf_event_attr attr = kprobe(_metadata);
	int answer = wait_child(start_child(open_as_stranger, &attr));

	if (answer == 201)
		say_blocked("without privilege there are no events at all");
	if (answer != EACCES && answer != EPERM)
		broken("answer=%s want=EACCES or EPERM", answer == 200 ? "ok" : errno_name(answer));
}

PROBE_MAIN
