/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The free-running counters of x86 as events: they count also where no PMU is, but they neither
 * sample nor exclude. Observed: msr/tsc against the time that the thread was on a CPU, and the
 * refusal of what it cannot do.
 */
#include "probe.h"
#include "pmu.h"

PROBE(TITLE("model-specific registers as events")
      SINCE("4.3")
      NEEDS("arch:x86")
      POINT(tsc_counts, "msr/tsc/ grows while the thread runs, and more in twice the time")
      POINT(tsc_sleeps, "msr/tsc/ of a thread stands still while it sleeps")
      POINT(tsc_whole_cpu, "msr/tsc/ of a CPU goes on while its tasks sleep")
      POINT(no_sampling, "a sample period is refused with EINVAL")
      POINT(no_exclude, "exclude_kernel is refused with EINVAL")
      FACT(mhz, int, "MHz", "counts of msr/tsc/ a microsecond"))

static struct perf_event_attr tsc(void)
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
	struct perf_event_attr attr = tsc();
	int fd = must_open(&attr, 0, -1, -1, 0);
	uint64_t counts[3];

	counts[0] = must_count(fd);
	spin_ns(1000000);
	counts[1] = must_count(fd);
	spin_ns(4000000);
	counts[2] = must_count(fd);
	fact_int("mhz", (counts[2] - counts[1]) / 4000);
	if (counts[1] <= counts[0] || counts[2] <= counts[1])
		say_broken("counts=%" PRIu64 " %" PRIu64 " %" PRIu64, counts[0], counts[1],
			   counts[2]);
}

/* Counts a ns while awake: the best of some tries, as others may have had the CPU in between. */
static double awake(int fd)
{
	double best = 0;

	for (int i = 0; i < 5; i++) {
		uint64_t begin = now_ns(), before = must_count(fd), now, count;

		do {
			count = must_count(fd) - before;
			now = now_ns();
		} while (now - begin < 1000000);
		if (count > best * (now - begin))
			best = (double)count / (now - begin);
	}
	if (best <= 0)
		say_broken("counts nothing while awake");
	return best;
}

/* The smallest of five steps that the clock makes: a tick where the kernel has no better one. */
static uint64_t clock_step(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		const uint64_t begin = now_ns();
		uint64_t now;

		while ((now = now_ns()) == begin)
			;
		if (now - begin < least)
			least = now - begin;
	}
	return least;
}

/* How fast it counts over 20 ms of sleep, in per mille of how fast it does awake. */
static uint64_t asleep(int fd, double speed)
{
	uint64_t begin = now_ns(), before = must_count(fd);

	poll(NULL, 0, 20);
	return (must_count(fd) - before) / speed / (now_ns() - begin) * 1000;
}

TEST(tsc_sleeps)
{
	struct perf_event_attr attr = tsc();
	int fd = must_open(&attr, 0, -1, -1, 0);
	double speed = awake(fd);
	uint64_t least = asleep(fd, speed);

	/* Going to sleep and waking up may take long, too, on a machine that is emulated. */
	for (int i = 0; i < 5 && least > 500; i++)
		least = asleep(fd, speed);
	if (least > 500)
		say_broken("asleep it counts at %" PRIu64 "/1000 of its speed awake", least);
}

TEST(tsc_whole_cpu)
{
	struct perf_event_attr attr = tsc();
	int fd = must_open(&attr, -1, move_to_nth_cpu(0), -1, 0);
	uint64_t speed = 0;

	/* A clock that was late makes it look faster awake than it is. */
	for (int i = 0; i < 5 && speed < 500; i++)
		speed = asleep(fd, awake(fd));
	if (speed < 500 && clock_step() >= 1000000)
		say_unknown("the clock that it is held against makes steps of a millisecond");
	if (speed < 500)
		say_broken("asleep it counts at %" PRIu64 "/1000 of its speed awake", speed);
}

TEST(no_sampling)
{
	struct perf_event_attr attr = tsc();

	close(must_open(&attr, 0, -1, -1, 0));
	attr.sample_period = 1000;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "a sample period");
}

TEST(no_exclude)
{
	struct perf_event_attr attr = tsc();

	close(must_open(&attr, 0, -1, -1, 0));
	attr.exclude_kernel = 1;
	expect_refused(pm_open(&attr, 0, -1, -1, 0), EINVAL, BROKEN, "exclude_kernel");
}

PROBE_MAIN
