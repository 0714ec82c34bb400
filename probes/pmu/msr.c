/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The free-running counters of x86 as events: they count also where no PMU is, but they neither
 * sample nor exclude. Observed: msr/tsc against the time that the thread was on a CPU, and the
 * refusal of what it cannot do.
 */
#include "probe.h"

PROBE(TITLE("model-specific registers as events")
      SINCE("4.3")
      NEEDS("arch:x86")
      POINT(tsc_counts, "msr/tsc/ grows while the thread runs, and more in twice the time")
      POINT(tsc_sleeps, "msr/tsc/ of a thread stands still while it sleeps")
      POINT(tsc_whole_cpu, "msr/tsc/ of a CPU goes on while its tasks sleep")
      POINT(no_sampling, "a sample period is refused with EINVAL")
      POINT(no_exclude, "exclude_kernel is refused with EINVAL")
      FACT(mhz, int, "MHz", "counts of msr/tsc/ a microsecond"))

static struct perf_event_attr tsc(struct __test_metadata *_metadata)
{
	struct perf_event_attr attr = must_pmu("msr");
	char text[64];

	if (pm_read_text("/sys/bus/event_source/devices/msr/events/tsc", text, sizeof(text)) < 0)
		say_absent("the msr PMU has no tsc");
	attr.exclude_kernel = attr.exclude_hv = 0;
	attr.disabled = 0;
	return attr;
}

TEST(tsc_counts)
{
	struct perf_event_attr attr = tsc(_metadata);
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t counts[3];

	counts[0] = must_count(fd);
	spin_ns(1000000);
	counts[1] = must_count(fd);
	spin_ns(4000000);
	counts[2] = must_count(fd);
	fact_int("mhz", (counts[2] - counts[1]) / 4000);
	if (counts[1] <= counts[0] || counts[2] <= counts[1])
		broken("counts=%" PRIu64 " %" PRIu64 " %" PRIu64, counts[0], counts[1], counts[2]);
}

/* What is counted over 20 ms of sleep, in per mille of what 1 ms awake is. */
static uint64_t asleep(struct __test_metadata *_metadata, pid_t pid, int cpu)
{
	struct perf_event_attr attr = tsc(_metadata);
	int fd = must_open(&attr, pid, cpu, -1, 0);
	uint64_t before = must_count(fd), time, awake, count;

	time = now_ns();
	do
		awake = must_count(fd) - before;
	while (now_ns() - time < 1000000);
	if (!awake)
		broken("counts nothing while awake");
	before = must_count(fd);
	poll(NULL, 0, 20);
	count = must_count(fd) - before;
	return count * 1000 / awake;
}

TEST(tsc_sleeps)
{
	uint64_t count = asleep(_metadata, 0, -1);

	if (count > 10000)
		broken("20 ms of sleep=%" PRIu64 "/1000 of 1 ms awake", count);
}

TEST(tsc_whole_cpu)
{
	uint64_t count = asleep(_metadata, -1, move_to_nth_cpu(0));

	if (count < 2000)
		broken("20 ms of sleep=%" PRIu64 "/1000 of 1 ms awake", count);
}

TEST(no_sampling)
{
	struct perf_event_attr attr = tsc(_metadata);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_period = 1000;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "a sample period");
}

TEST(no_exclude)
{
	struct perf_event_attr attr = tsc(_metadata);

	close(must_open(&attr, 0, -1, -1, 0));
	attr.exclude_kernel = 1;
	hold_rule(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "exclude_kernel");
}

PROBE_MAIN
