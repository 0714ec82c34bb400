/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do the clock events sample, and whom? Where there is no PMU they are the only profiler. Their
 * timer runs with the watched thread, so another thread's work gives no sample.
 * Observed: samples while the watched thread is busy (as many as the period asks, in fair bounds),
 * and none while only another one is. Going to sleep and waking up are work of its own, so the
 * other one works longer until that is little beside it.
 */
#include "probe.h"

PROBE(TITLE("sampling with clock events")
      SINCE("2.6.31")
      POINT(cpu.samples, "cpu-clock: a busy thread gives samples, at most one a period")
      POINT(task.samples, "task-clock: a busy thread gives samples, at most one a period")
      POINT(cpu.other_thread, "cpu-clock: another thread's work gives this thread no samples")
      POINT(task.other_thread, "task-clock: another thread's work gives this thread no samples")
      POINT(cpu.whole_cpu, "cpu-clock of a CPU samples the task that runs there")
      POINT(task.whole_cpu, "task-clock of a CPU samples the task that runs there")
      FACT(cpu.of_100, int, "samples", "samples of 100 periods of 0.1 ms of CPU time")
      FACT(task.of_100, int, "samples", "samples of 100 periods of 0.1 ms of CPU time"))

#define PERIOD UINT64_C(100000)	/* ns */

FIXTURE(clock)
{
	struct perf_event_attr attr;
};

FIXTURE_VARIANT(clock)
{
	uint64_t config;
	const char *of_100;
};

FIXTURE_VARIANT_ADD(clock, cpu)
{
	.config = PERF_COUNT_SW_CPU_CLOCK, .of_100 = "cpu.of_100",
};

FIXTURE_VARIANT_ADD(clock, task)
{
	.config = PERF_COUNT_SW_TASK_CLOCK, .of_100 = "task.of_100",
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

/* Samples of a thread; work is done until there are some, or for a tenth of a second. */
static int samples_of(struct sampler *sampler, pid_t tid)
{
	struct pm_record record;
	int samples = 0;

	for (int i = 0; i < 10 && !samples; i++) {
		spin_periods((void *)100);
		while (find_record(sampler, PERF_RECORD_SAMPLE, &record))
			samples += record.sample.sid.tid == (uint32_t)tid;
	}
	return samples;
}

TEST_F(clock, samples)
{
	struct sampler sampler = must_sampler(&self->attr, 0, -1, 8);
	uint64_t wall = now_ns();
	int samples;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	samples = samples_of(&sampler, pm_gettid());
	wall = now_ns() - wall;
	fact_int(variant->of_100, samples);
	if (!samples || (uint64_t)samples > wall / PERIOD + 2)
		say_broken("samples=%d want 1 to %" PRIu64, samples, wall / PERIOD + 2);
}

TEST_F(clock, other_thread)
{
	struct sampler sampler = must_sampler(&self->attr, 0, -1, 8);
	struct worker worker;
	intptr_t periods = 50;
	int asleep, awake;

	must_start_worker(&worker, WORKER_THREAD);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (;; periods *= 4) {
		count_records(&sampler.ring, PERF_RECORD_SAMPLE);
		ASSERT_EQ(0, worker_do(&worker, spin_periods, (void *)periods));
		asleep = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
		if (asleep <= periods / 5 || periods >= 3200)
			break;
	}
	awake = samples_of(&sampler, pm_gettid());
	if (asleep > periods / 5 || !awake)
		say_broken("asleep=%d want<=%d of %d, awake=%d want>0", asleep, (int)periods / 5,
			   (int)periods, awake);
}

TEST_F(clock, whole_cpu)
{
	struct sampler sampler = must_sampler(&self->attr, -1, move_to_nth_cpu(0), 8);
	int samples;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	samples = samples_of(&sampler, pm_gettid());
	if (!samples)
		say_broken("no sample of the busy task");
}

PROBE_MAIN
