/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Are samples of cpu-clock, which profilers use where there is no PMU, true: do times grow, do
 * addresses lie inside the loop that ran, do periods follow the frequency?
 * Observed: this thread runs a loop in one known function until enough samples have come.
 */
#include "probe.h"

PROBE(TITLE("samples of cpu-clock")
      SINCE("2.6.31")
      POINT(time_monotone, "times of cpu-clock samples in one ring never run backward")
      POINT(ip_in_loop, "most addresses of cpu-clock samples lie in the loop that ran")
      POINT(ip_user_only, "with exclude_kernel no cpu-clock sample has a kernel address")
      POINT(period_fixed, "every cpu-clock sample of a fixed period carries that period")
      POINT(period_follows_frequency,
	    "at 2000 Hz, or the highest rate allowed, cpu-clock periods are about "
				      "1/Hz"))

static volatile uint64_t work;

static void loop(unsigned int rounds)
{
	while (rounds--)
		work = work * 3 + 1;
}

/* Called through memory, or a compiler may run a copy made for the one number of rounds. */
static void (*volatile run_loop)(unsigned int rounds) = loop;

static struct sampler sample_loop(unsigned int freq, int want)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_CPU_CLOCK);
	const uint64_t end = now_ns() + 2000000000;
	struct sampler sampler;

	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	attr.freq = freq > 0;
	attr.sample_period = freq ? freq : 200000;
	sampler = must_run_sampler(&attr, 0, -1, 16);
	while (pm_ring_pending(&sampler.ring) < (uint64_t)want * 32 && now_ns() < end)
		run_loop(20000);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!pm_ring_pending(&sampler.ring))
		say_broken("no sample in two seconds");
	return sampler;
}

TEST(time_monotone)
{
	struct sampler sampler = sample_loop(0, 20);
	struct pm_record record;
	uint64_t last = 0;

	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record)) {
		if (record.sample.sid.time < last)
			say_broken("time=%" PRIu64 " after %" PRIu64, record.sample.sid.time, last);
		last = record.sample.sid.time;
	}
	if (!last)
		say_broken("no sample with a time");
}

TEST(ip_in_loop)
{
	const int want = 40;
	struct sampler sampler = sample_loop(0, want);
	const uint64_t start = (uintptr_t)loop & ~(uintptr_t)1;
	struct pm_record record;
	int seen = 0, inside = 0;

	for (; find_record(&sampler, PERF_RECORD_SAMPLE, &record); seen++)
		inside += record.sample.ip - start < 256;
	if (inside * 2 < seen && seen < want)
		say_unknown("only %d of %d samples in two seconds, %d of them in the loop", seen,
			    want, inside);
	if (inside * 2 < seen || !seen)
		say_broken("samples=%d in the loop=%d", seen, inside);
}

TEST(ip_user_only)
{
	struct sampler sampler = sample_loop(0, 20);
	struct pm_record record;
	int seen = 0;

	for (; find_record(&sampler, PERF_RECORD_SAMPLE, &record); seen++)
		if ((record.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER ||
		    (sizeof(long) == 8 && record.sample.ip >> 63))
			say_broken("ip=%#" PRIx64 " misc=%#x", record.sample.ip, record.misc);
	if (!seen)
		say_broken("no sample");
}

TEST(period_fixed)
{
	struct sampler sampler = sample_loop(0, 20);
	struct pm_record record;
	int seen = 0;

	for (; find_record(&sampler, PERF_RECORD_SAMPLE, &record); seen++)
		if (record.sample.period != 200000)
			say_broken("period=%" PRIu64 " want=200000", record.sample.period);
	if (!seen)
		say_broken("no sample");
}

TEST(period_follows_frequency)
{
	int64_t frequency = 2000, most;
	struct pm_record record;
	struct sampler sampler;
	uint64_t last = 0, want;

	/* The kernel lowers the limit by itself when samples take it long. */
	if (!pm_read_number("/proc/sys/kernel/perf_event_max_sample_rate", &most) &&
	    most > 0 && most < frequency)
		frequency = most;
	want = 1000000000 / (uint64_t)frequency;
	sampler = sample_loop((unsigned int)frequency, 20);

	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		last = record.sample.period;
	if (last < want / 5 || last > want * 5)
		say_broken("last period=%" PRIu64 " ns want about %" PRIu64, last, want);
}

PROBE_MAIN
