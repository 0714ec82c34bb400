/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the PMU interrupt? Counting works on many virtual PMUs that never raise an interrupt, and a
 * profiler then waits for ever. Observed: a busy thread, samples in the ring beside the count, for
 * a fixed period and for a frequency.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("interrupts of hardware counters")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(cycles.samples, "cycles: a busy thread gives samples")
      POINT(instructions.samples, "instructions: a busy thread gives samples")
      POINT(cycles.period, "cycles: samples are about count / period, not fewer, not more")
      POINT(instructions.period, "instructions: about count / period, not fewer, not more")
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
	must_have_counters();
	self->counting = attr_of(PERF_TYPE_HARDWARE, variant->config);
	self->attr = self->counting;
	self->attr.sample_period = PERIOD;
	self->attr.sample_type = PERF_SAMPLE_TID;
}

FIXTURE_TEARDOWN(counter)
{
}

struct tally {
	int samples, held_back;		/* records of samples; of throttling and of lost ones */
};

static void take(struct sampler *sampler, struct tally *tally)
{
	struct pm_record record;

	while (find_record(sampler, 0, &record)) {
		tally->samples += record.type == PERF_RECORD_SAMPLE;
		tally->held_back += record.type == PERF_RECORD_THROTTLE ||
				    record.type == PERF_RECORD_LOST;
	}
}

/* Spin until there are samples, for at most a quarter of a second. */
static struct tally collect(struct sampler *sampler, int want)
{
	const uint64_t end = now_ns() + 250000000;
	struct tally tally = { 0 };

	pm_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	while (tally.samples < want && now_ns() < end) {
		spin_ns(1000000);
		take(sampler, &tally);
	}
	pm_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	take(sampler, &tally);
	return tally;
}

TEST_F(counter, samples)
{
	struct sampler sampler = ask_sampler(&self->attr, &self->counting, 0, -1, 8,
					     "a sample period");

	if (collect(&sampler, 1).samples)
		return;
	must_have_run();
	say_broken("counted=%" PRIu64 " period=%d samples=0: it never interrupts",
		   must_count(sampler.fd), PERIOD);
}

/* Throttling and a full ring take samples away; a PMU that loses interrupts says nothing. */
TEST_F(counter, period)
{
	struct sampler sampler = ask_sampler(&self->attr, &self->counting, 0, -1, 8,
					     "a sample period");
	struct tally tally = collect(&sampler, 20);
	uint64_t count = must_count(sampler.fd), want = count / PERIOD, got = tally.samples;

	if (!got)
		say_unknown("no samples; counted=%" PRIu64, count);
	if (got > want + want / 4 + 2)
		say_broken("samples=%" PRIu64 " counted=%" PRIu64 " period=%d", got, count, PERIOD);
	if (got + got / 4 + 2 >= want)
		return;
	if (tally.held_back)
		say_unknown("samples=%" PRIu64 " of %" PRIu64 ", and some were held back", got,
			    want);
	say_broken("samples=%" PRIu64 " counted=%" PRIu64 " period=%d: interrupts are lost", got,
		   count, PERIOD);
}

TEST_F(counter, frequency)
{
	struct sampler sampler;

	self->attr.freq = 1;
	self->attr.sample_freq = 500;
	sampler = ask_sampler(&self->attr, &self->counting, 0, -1, 8, "a frequency");
	if (collect(&sampler, 1).samples)
		return;
	must_have_run();
	say_broken("counted=%" PRIu64 " frequency=500 samples=0", must_count(sampler.fd));
}

PROBE_MAIN
