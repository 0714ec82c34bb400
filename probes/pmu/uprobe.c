/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can functions of a program be counted without tracefs, by file and offset? Observed: calls of a
 * function of this very program, with and without the right to see the kernel, and its returns.
 * Linux 33ea4b24277b ("perf/core: Implement the 'perf_uprobe' PMU") (v4.17)
 */
#include "probe.h"
#include "pmu.h"
#include "uprobe_target.h"

PROBE(TITLE("uprobes as events")
      SINCE("4.17")
      COMMIT("33ea4b24277b")
      NEEDS("uprobe")
      POINT(counts, "9 calls of a function are 9 counts")
      POINT(user_only, "with exclude_kernel the 9 calls are counted as well")
      POINT(returns, "with the retprobe bit 9 returns are 9 counts")
      FACT(type, int, "-", "the PMU's type"))

static void want_nine(const struct perf_event_attr *attr)
{
	int fd = open_uprobe(attr);

	call_nine_times();
	expect_count(fd, 9);
}

TEST(counts)
{
	struct perf_event_attr attr = must_uprobe(watched_function);

	fact_int("type", attr.type);
	want_nine(&attr);
}

TEST(user_only)
{
	struct perf_event_attr attr = must_uprobe(watched_function);

	attr.exclude_kernel = 1;
	want_nine(&attr);
}

TEST(returns)
{
	struct perf_event_attr attr = must_uprobe(watched_function);

	must_place("uprobe", "retprobe", 1, &attr);
	want_nine(&attr);
}

PROBE_MAIN
