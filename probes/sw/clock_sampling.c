/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the clock events sample, and which task? Where there is no PMU they are the only profiler.
 * Their timer runs only while the watched thread is on a CPU, so another thread's work gives no
 * sample.
 * Observed: samples while the watched thread is busy, at most one a period, and hardly any while
 * another thread is. Going to sleep and waking up are work of the watched thread, so the other one
 * works longer until that is little in comparison. Where nothing is sampled, a timer of another
 * kind tells whether this machine let any timer interrupt the thread at all.
 */
#include "probe.h"
#include "finding.h"
#include "finding.h"
#include "ticker.h"

PROBE(TITLE("sampling with clock events")
      SINCE("2.6.31")
      POINT(cpu.samples, "cpu-clock gives samples of a busy thread, at most one a period")
      POINT(task.samples, "task-clock gives samples of a busy thread, at most one a period")
      POINT(cpu.other_thread, "cpu-clock gives no samples of a thread while another thread works")
      POINT(task.other_thread, "task-clock gives no samples of a thread while another thread works")
      POINT(cpu.whole_cpu, "cpu-clock of a CPU samples the task that runs there")
      POINT(task.whole_cpu, "task-clock of a CPU samples the task that runs there"))

#define PERIOD UINT64_C(100000)	/* ns */
#define FREQUENCY 500		/* Hz */

FIXTURE(clock)
{
	struct perf_event_attr attr;
};

FIXTURE_VARIANT(clock)
{
	uint64_t config;
};

FIXTURE_VARIANT_ADD(clock, cpu)
{
	.config = PERF_COUNT_SW_CPU_CLOCK,
};

FIXTURE_VARIANT_ADD(clock, task)
{
	.config = PERF_COUNT_SW_TASK_CLOCK,
};

FIXTURE_SETUP(clock)
{
	self->attr = attr_software(variant->config);
	self->attr.sample_period = PERIOD;
	self->attr.sample_type = PERF_SAMPLE_TID;
}

FIXTURE_TEARDOWN(clock)
{
}

static int spin_periods(void *periods)
{
	uint64_t end, now;

	pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &end);
	end += (intptr_t)periods * PERIOD;
	do
		pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now < end);
	return 0;
}

/*
 * Samples of this thread, which works until there are some. Broken when there are none although
 * another timer interrupted 20 times meanwhile.
 */
static int must_be_sampled(struct sampler *sampler)
{
	const uint64_t end = now_ns() + 4000000000;
	struct ticker ticker;
	int samples = 0;

	must_tick(&ticker, 10);
	while (!samples && ticker_count(&ticker) < 20 && now_ns() < end) {
		spin_periods((void *)100);
		samples = count_samples(sampler, pm_gettid());
	}
	if (!samples && ticker_count(&ticker) >= 20)
		say_broken("no sample of the busy thread, while another timer interrupted %u times",
			   ticker_count(&ticker));
	if (!samples)
		say_unknown("no sample, but another timer interrupted %u times only in 4 s",
			    ticker_count(&ticker));
	return samples;
}

/* A clock turns a frequency into a period, exactly, and each sample says so. */
static void expect_frequency(struct perf_event_attr attr)
{
	struct sampler sampler;
	struct pm_record record;

	attr.freq = 1;
	attr.sample_freq = FREQUENCY;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD;
	if (try_open(&attr))
		return;		/* where the kernel allows no more than a few samples a second */
	sampler = must_run_sampler(&attr, 0, -1, 8);
	for (int i = 0; i < 100; i++) {
		spin_periods((void *)50);
		if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
			continue;
		if (record.sample.period != 1000000000 / FREQUENCY)
			say_broken("period=%" PRIu64 " of frequency %d", record.sample.period,
				   FREQUENCY);
		return;
	}
}

TEST_F(clock, samples)
{
	struct sampler sampler = must_sampler(&self->attr, 0, -1, 8);
	uint64_t wall = now_ns();
	int samples;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	samples = must_be_sampled(&sampler);
	wall = now_ns() - wall;
	if ((uint64_t)samples > wall / PERIOD + 2)
		say_broken("samples=%d want at most %" PRIu64, samples, wall / PERIOD + 2);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_frequency(self->attr);
}

TEST_F(clock, other_thread)
{
	struct sampler sampler = must_sampler(&self->attr, 0, -1, 8);
	struct worker worker;
	intptr_t periods = 50;
	uint64_t before, own;
	int asleep;

	must_start_worker(&worker, WORKER_THREAD);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (;; periods *= 4) {
		count_records(&sampler.ring, PERF_RECORD_SAMPLE);
		pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &before);
		ASSERT_EQ(0, worker_do(&worker, spin_periods, (void *)periods));
		pm_clock_ns(CLOCK_THREAD_CPUTIME_ID, &own);
		asleep = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
		if (asleep <= periods / 5 || periods >= 3200)
			break;
	}
	must_be_sampled(&sampler);
	if (asleep <= periods / 5)
		return;
	if (own - before > periods * PERIOD / 10)
		say_unknown("samples=%d while another thread worked for %d periods, but this one "
			    "was on a CPU for %" PRIu64 " ns itself",
			    asleep, (int)periods, own - before);
	say_broken("samples=%d want<=%d while another thread worked for %d periods", asleep,
		   (int)periods / 5, (int)periods);
}

TEST_F(clock, whole_cpu)
{
	struct sampler sampler = must_sampler(&self->attr, -1, move_to_nth_cpu(0), 8);

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	must_be_sampled(&sampler);
}

PROBE_MAIN
