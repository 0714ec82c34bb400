/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do samples of a hardware counter tell the truth? A profile weighs each by its period and puts it
 * where its address is; interrupts that come late put all of it into the wrong function. Observed:
 * a user-only counter over one loop that lies in a section of its own.
 */
#include "probe.h"
#include "core_pmu.h"
#include "late.h"

PROBE(TITLE("what samples of hardware counters say")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(period, "each sample tells the period that was asked for")
      POINT(place, "three of four addresses lie in the loop that the program spins in")
      POINT(spread, "one period or about that lies between a sample and the next, by the counter")
      FACT(inside, int, "%", "addresses that lie in the loop"))

#define PERIOD 10000000
#define WANT 24
#define MOST 64
#define ONE_STEP 100000		/* passes of the loop between two looks at the clock */

/* Begin and end of the section, which the linker knows. */
extern const char __start_hot[], __stop_hot[];

static volatile uint32_t sink;

static void __attribute__((section("hot"), noinline)) hot_loop(void)
{
	for (int i = 0; i < ONE_STEP; i++)
		sink += i;
}

FIXTURE(samples)
{
	struct pm_sample taken[MOST];
	bool stood[MOST];		/* something else ran in the step that it came in */
	int count, in_kernel;		/* taken after the thread had left the program */
	bool late;			/* a timer's interrupts came late as well */
	uint64_t spun, stalled;		/* ns in all, and in which this CPU did nothing for us */
	uint64_t outside;		/* ns that passed outside of the loop */
};

static void take(struct sampler *sampler, FIXTURE_DATA(samples) *self, bool stood)
{
	struct pm_record record;

	while (find_record(sampler, PERF_RECORD_SAMPLE, &record)) {
		if (self->count == MOST)
			continue;
		self->stood[self->count] = stood;
		self->taken[self->count++] = record.sample;
		self->in_kernel +=
			(record.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	}
}

/* How long a step takes while nothing else runs: the shortest of a few. */
static uint64_t time_step(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 10; i++) {
		const uint64_t start = now_ns();

		hot_loop();
		if (now_ns() - start < least)
			least = now_ns() - start;
	}
	return least;
}

/* While a step takes much longer than it has to, something else runs. */
static void spin(struct sampler *sampler, struct timer *timer, FIXTURE_DATA(samples) *self)
{
	const uint64_t usual = 2 * time_step(), most = 2000000 + usual, start = now_ns();
	uint64_t before = start, now = start;

	while (self->count < WANT && now < start + 2000000000) {
		hot_loop();
		now = now_ns();
		if (now - before > most)
			self->stalled += now - before;
		take(sampler, self, now - before > usual + 500000);
		before = now;
		take_ticks(timer);
		self->outside += now_ns() - now;
	}
	self->spun = now - start;
}

FIXTURE_SETUP(samples)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_CPU_CYCLES);
	struct sampler sampler;
	struct timer timer;

	must_have_counters();
	timer = must_timer();
	attr.sample_period = PERIOD;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
	sampler = must_run_sampler(&attr, 0, -1, 8);
	spin(&sampler, &timer, self);
	self->late = is_late(&timer);
	if (self->count < WANT)
		say_unknown("samples=%d in 2 s of work; counted=%" PRIu64, self->count,
			    must_count(sampler.fd));
}

FIXTURE_TEARDOWN(samples)
{
}

TEST_F(samples, period)
{
	for (int i = 0; i < self->count; i++)
		if (self->taken[i].period != PERIOD)
			say_broken("sample %d: period=%" PRIu64 " want=%d", i,
				   self->taken[i].period, PERIOD);
}

static bool in_loop(const struct pm_sample *sample)
{
	return sample->ip >= (uintptr_t)__start_hot && sample->ip < (uintptr_t)__stop_hot;
}

/*
 * A sample that came while something else ran is not judged: an emulator raises the counter's
 * interrupt together with the timer's when its thread runs again, and the sample is of the kernel.
 */
TEST_F(samples, place)
{
	int inside = 0, judged = 0, good = 0;

	for (int i = 0; i < self->count; i++) {
		inside += in_loop(&self->taken[i]);
		judged += !self->stood[i];
		good += !self->stood[i] && in_loop(&self->taken[i]);
	}
	fact_int("inside", 100 * inside / self->count);
	if (4 * inside >= 3 * self->count || (2 * judged >= WANT && 4 * good >= 3 * judged))
		return;
	if (2 * judged < WANT)
		say_unknown("%d of %d addresses lie in the loop, and something else ran when %d of "
			    "them came", inside, self->count, self->count - judged);
	if (8 * self->outside > self->spun)
		say_unknown("%d of %d addresses lie in the loop, and the thread was outside of it "
			    "for %" PRIu64 " of %" PRIu64 " ns", inside, self->count,
			    self->outside, self->spun);
	if (self->late)
		say_unknown("%d of %d addresses lie in the loop, %d are of the kernel, and a "
			    "timer's interrupts were late as well", inside, self->count,
			    self->in_kernel);
	say_broken("%d of %d addresses lie in the loop, %d are of the kernel, the first is "
		   "%#" PRIx64 " of %p to %p", inside, self->count, self->in_kernel,
		   self->taken[0].ip, (const void *)__start_hot, (const void *)__stop_hot);
}

/* A machine that stands still has several periods end at once, and its samples are no news. */
TEST_F(samples, spread)
{
	int short_ones = 0;

	for (int i = 1; i < self->count; i++) {
		const uint64_t gap = self->taken[i].read.member[0].value -
				     self->taken[i - 1].read.member[0].value;

		short_ones += gap < PERIOD / 4 || gap > UINT64_MAX / 2;
	}
	if (2 * short_ones < self->count)
		return;
	if (4 * self->stalled > self->spun)
		say_unknown("the thread stood still for %" PRIu64 " of %" PRIu64 " ns",
			    self->stalled, self->spun);
	say_broken("%d of %d samples came less than a quarter of a period behind another: late, in "
		   "heaps", short_ones, self->count);
}

PROBE_MAIN
