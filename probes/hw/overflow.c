/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the PMU interrupt? Counting works on many virtual PMUs that never raise an interrupt, and a
 * profiler then waits for ever. Observed: a busy thread, samples in the ring beside the count, for
 * a fixed period and for a frequency.
 */
#include "probe.h"

PROBE(TITLE("interrupts of hardware counters")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(cycles.samples, "cycles: a busy thread gives samples")
      POINT(instructions.samples, "instructions: a busy thread gives samples")
      POINT(cycles.period, "cycles: samples are about count / period")
      POINT(instructions.period, "instructions: samples are about count / period")
      POINT(cycles.frequency, "cycles: a frequency instead of a period gives samples, too")
      POINT(instructions.frequency, "instructions: a frequency gives samples, too"))

#define PERIOD 200000

FIXTURE(counter)
{
	struct perf_event_attr attr, counting;
};

FIXTURE_VARIANT(counter)
{
	uint64_t config;
};

FIXTURE_VARIANT_ADD(counter, cycles)
{
	.config = PERF_COUNT_HW_CPU_CYCLES,
};

FIXTURE_VARIANT_ADD(counter, instructions)
{
	.config = PERF_COUNT_HW_INSTRUCTIONS,
};

FIXTURE_SETUP(counter)
{
	self->counting = attr_of(PERF_TYPE_HARDWARE, variant->config);
	self->attr = self->counting;
	self->attr.sample_period = PERIOD;
	self->attr.sample_type = PERF_SAMPLE_TID;
}

FIXTURE_TEARDOWN(counter)
{
}

/* Spin until there are samples, for at most a quarter of a second. */
static int collect(struct sampler *sampler, int want)
{
	const uint64_t end = now_ns() + 250000000;
	int samples = 0;

	pm_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	while (samples < want && now_ns() < end) {
		spin_ns(1000000);
		samples += count_records(&sampler->ring, PERF_RECORD_SAMPLE);
	}
	pm_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	return samples + count_records(&sampler->ring, PERF_RECORD_SAMPLE);
}

TEST_F(counter, samples)
{
	struct sampler sampler =
		ask_sampler(&self->attr, &self->counting, 0, -1, 8, "a sample period");

	if (!collect(&sampler, 1))
		say_broken("counted=%" PRIu64 " period=%d samples=0: it never interrupts",
			   must_count(sampler.fd), PERIOD);
}

TEST_F(counter, period)
{
	struct sampler sampler =
		ask_sampler(&self->attr, &self->counting, 0, -1, 8, "a sample period");
	int samples = collect(&sampler, 20);
	uint64_t count = must_count(sampler.fd), want = count / PERIOD;

	if (!samples)
		say_unknown("no samples; counted=%" PRIu64, count);
	if ((uint64_t)samples > want + want / 4 + 2)
		say_broken("samples=%d counted=%" PRIu64 " period=%d", samples, count, PERIOD);
}

TEST_F(counter, frequency)
{
	struct sampler sampler;

	self->attr.freq = 1;
	self->attr.sample_freq = 500;
	sampler = ask_sampler(&self->attr, &self->counting, 0, -1, 8, "a frequency");
	if (!collect(&sampler, 1))
		say_broken("counted=%" PRIu64 " frequency=500 samples=0", must_count(sampler.fd));
}

PROBE_MAIN
