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

/* How fast it counts over 20 ms of sleep, in per mille of how fast it does over 1 ms awake. */
static uint64_t asleep(struct __test_metadata *_metadata, pid_t pid, int cpu)
{
	struct perf_event_attr attr = tsc(_metadata);
	int fd = must_open(&attr, pid, cpu, -1, 0);
	uint64_t time[3] = { now_ns() }, count[3] = { must_count(fd) };

	do {
		count[1] = must_count(fd);
		time[1] = now_ns();
	} while (time[1] - time[0] < 1000000);
	if (count[1] <= count[0])
		broken("counts nothing while awake");
	poll(NULL, 0, 20);
	count[2] = must_count(fd);
	time[2] = now_ns();
	return (double)(count[2] - count[1]) / (time[2] - time[1]) /
		((double)(count[1] - count[0]) / (time[1] - time[0])) * 1000;
}

TEST(tsc_sleeps)
{
	uint64_t speed = asleep(_metadata, 0, -1);

	if (speed > 500)
		broken("asleep it counts at %" PRIu64 "/1000 of its speed awake", speed);
}

TEST(tsc_whole_cpu)
{
	uint64_t speed = asleep(_metadata, -1, move_to_nth_cpu(0));

	if (speed < 500)
		broken("asleep it counts at %" PRIu64 "/1000 of its speed awake", speed);
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
