/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the PMU interrupt? Counting works on many virtual PMUs that never raise an interrupt, and a
 * profiler then waits for ever. Observed: a busy thread, samples in the ring beside the count, for
 * a fixed period and for a frequency.
 */
#include "probe.h"
#include "core_pmu.h"
#include "late.h"

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
#define GAPS 64
#define TRIES 8		/* windows that cannot tell */
#define REPEATED 3	/* windows with too many: once may be the machine's doing, seen on 5.10 */

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
	self->counting = attr_core(variant->config);
	self->attr = self->counting;
	self->attr.sample_period = PERIOD;
	self->attr.sample_type = PERF_SAMPLE_TID;
}

FIXTURE_TEARDOWN(counter)
{
}

struct tally {
	int samples, held_back;		/* records of samples; of throttling and of lost ones */
	uint64_t last, gap[GAPS];	/* the count at the last sample, and from one to the next */
};

static void take(struct sampler *sampler, struct tally *tally)
{
	struct pm_record record;

	while (find_record(sampler, 0, &record)) {
		if (record.type == PERF_RECORD_SAMPLE) {
			uint64_t count = record.sample.read.member[0].value;

			tally->gap[tally->samples++ % GAPS] = count - tally->last;
			tally->last = count;
		}
		tally->held_back += record.type == PERF_RECORD_THROTTLE ||
				    record.type == PERF_RECORD_LOST;
	}
}

/* Spin until there are samples, for at most a quarter of a second. */
static struct tally collect(struct sampler *sampler, int want)
{
	const uint64_t end = now_ns() + 250000000;
	struct tally tally = { .last = must_count(sampler->fd) };

	pm_ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0);
	while (tally.samples < want && now_ns() < end) {
		spin_ns(1000000);
		take(sampler, &tally);
	}
	pm_ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
	take(sampler, &tally);
	return tally;
}

static int compare(const void *one, const void *two)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)two;

	return (a > b) - (a < b);
}

/* The count from one sample to the next that three of four do not exceed. */
static uint64_t usual_gap(struct tally *tally)
{
	size_t count = tally->samples < GAPS ? tally->samples : GAPS;

	qsort(tally->gap, count, sizeof(*tally->gap), compare);
	return tally->gap[count * 3 / 4];
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

/* What a window shows of a period. */
enum shown { ALL_CAME, SOME_LOST, NONE_CAME, HELD_BACK, TIMER_LATE, A_PERIOD_APART, TOO_MANY };

static const char *const why_unclear[] = {
	[NONE_CAME] = "which is another question",
	[HELD_BACK] = "and some were held back",
	[TIMER_LATE] = "but a timer's were late as well",
	[A_PERIOD_APART] = "but most of them a period apart",
	[TOO_MANY] = "which is too many, but not each time",
};

/*
 * Throttling and a full ring take samples away, and so does a host that lets an emulated CPU stand
 * still, when few gaps are long, or that has no time for an emulator's timers.
 */
static enum shown judge(struct tally *tally, bool late, uint64_t want, uint64_t period)
{
	const uint64_t got = tally->samples;

	if (!got)
		return NONE_CAME;
	if (got > want + want / 4 + 2)
		return TOO_MANY;
	if (got + got / 4 + 2 >= want)
		return ALL_CAME;
	if (tally->held_back)
		return HELD_BACK;
	if (late)
		return TIMER_LATE;
	return usual_gap(tally) <= period + period / 4 ? A_PERIOD_APART : SOME_LOST;
}

/* Are the samples of a period too few? A window that cannot tell is followed by another. */
static bool too_few(struct sampler *sampler, struct timer *timer, uint64_t period)
{
	enum shown shown = ALL_CAME;
	uint64_t got, want;
	int too_many = 0;

	for (int i = 0; i < TRIES; i++) {
		const uint64_t before = must_count(sampler->fd);
		struct tally tally;
		bool late;

		restart_timer(timer);
		tally = collect(sampler, 20);
		late = is_late(timer);
		want = (must_count(sampler->fd) - before) / period;
		got = tally.samples;
		shown = judge(&tally, late, want, period);
		too_many += shown == TOO_MANY;
		if (too_many == REPEATED)
			say_broken("samples=%" PRIu64 " of %" PRIu64 ", and that %d times; "
				   "period=%" PRIu64, got, want, too_many, period);
		if (shown == ALL_CAME || shown == SOME_LOST)
			return shown == SOME_LOST;
	}
	say_unknown("samples=%" PRIu64 " of %" PRIu64 ", %s", got, want, why_unclear[shown]);
}

/* A slow handler outlasts a short period; a PMU that loses interrupts loses them always. */
TEST_F(counter, period)
{
	struct timer timer = must_timer();
	struct sampler sampler;
	bool lost = true;

	self->attr.sample_type |= PERF_SAMPLE_READ;
	for (int factor = 1; factor <= 20 && lost; factor += 19) {
		self->attr.sample_period = factor * PERIOD;
		sampler = ask_sampler(&self->attr, &self->counting, 0, -1, 8, "a sample period");
		lost = too_few(&sampler, &timer, self->attr.sample_period);
	}
	if (lost)
		say_broken("fewer samples than periods, %d and %d: interrupts are lost", PERIOD,
			   20 * PERIOD);
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
