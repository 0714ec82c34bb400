/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can functions of the kernel be counted without tracefs, by name? Observed: a function that every
 * write to a pipe passes, its returns, and what is left of it for user mode alone.
 * Linux e12f03d7031a ("perf/core: Implement the 'perf_kprobe' PMU") (v4.17)
 */
#include "probe.h"
#include "pmu.h"

PROBE(TITLE("kprobes as events")
      SINCE("4.17")
      COMMIT("e12f03d7031a")
      NEEDS("kprobe")
      POINT(counts, "9 writes are 9 counts of vfs_write")
      POINT(returns, "with the retprobe bit 9 writes are 9 counts")
      POINT(user_only_zero, "with exclude_kernel it opens and reads 0")
      FACT(type, int, "-", "the PMU's type"))

static struct perf_event_attr kprobe(void)
{
	struct perf_event_attr attr = must_pmu("kprobe");

	attr.kprobe_func = (uintptr_t)"vfs_write";
	attr.exclude_kernel = attr.disabled = 0;
	return attr;
}

static uint64_t count_writes(const struct perf_event_attr *attr)
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
	struct perf_event_attr attr = kprobe();
	uint64_t count = count_writes(&attr);

	fact_int("type", attr.type);
	if (count != 9)
		say_broken("counted=%" PRIu64 " want=9", count);
}

TEST(returns)
{
	struct perf_event_attr attr = kprobe();
	uint64_t count;

	must_place("kprobe", "retprobe", 1, &attr);
	count = count_writes(&attr);
	if (count != 9)
		say_broken("counted=%" PRIu64 " want=9", count);
}

TEST(user_only_zero)
{
	struct perf_event_attr attr = kprobe(), all = attr;
	uint64_t count;

	if (count_writes(&all) != 9)
		say_unknown("it does not count with the kernel included either");
	attr.exclude_kernel = 1;
	count = count_writes(&attr);
	if (count)
		say_no("counted %" PRIu64 " of 9 in user mode", count);
}

PROBE_MAIN
