/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks does PERF_EVENT_IOC_PERIOD of an inherit event reach? A sampler that adapts its rate
 * has to know whether threads follow it.
 * Observed: samples of this task, of a thread older and of one younger than the change of period.
 */
#include "probe.h"

PROBE(TITLE("a new period for an inherit event")
      SINCE("2.6.31")
      POINT(period, "IOC_PERIOD of an inherit event changes the period of its own task")
      FACT(period_of_living, bool, "-", "IOC_PERIOD reaches a thread that lives already")
      FACT(period_of_new, bool, "-", "a thread made after IOC_PERIOD has the new period"))

/*
 * Each task faults 60 times: 3 samples with the old period of 20, 60 with the new one of 1.
 * An event that is not inherited stands beside, for else the kernel may exchange the contexts of
 * the task and its thread whenever one follows the other on a CPU, and the new period with them.
 */
TEST(period)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	const uint64_t period = 1;
	struct pm_record record;
	struct worker living, new;
	struct sampler sampler;
	int cpu = move_to_nth_cpu(0), samples[3] = { 0 };

	ASSERT_LE(0, cpu);
	must_open(&attr, 0, -1, -1, 0);
	attr = attr_faults(PERF_SAMPLE_TID);
	attr.sample_period = 20;
	attr.inherit = 1;
	sampler = must_sampler(&attr, 0, cpu, 8);
	must_start_worker(&living, WORKER_THREAD);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period);
	must_start_worker(&new, WORKER_THREAD);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(60));
	ASSERT_EQ(0, worker_faults(&living, 60));
	ASSERT_EQ(0, worker_faults(&new, 60));
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record)) {
		const pid_t tid = record.sample.sid.tid;

		samples[tid == living.tid ? 1 : tid == new.tid ? 2 : 0]++;
	}
	fact_bool("period_of_living", samples[1] > 20);
	fact_bool("period_of_new", samples[2] > 20);
	/* The first of them may still have been counted down from the old period. */
	if (samples[0] < 60 - 20 || samples[0] > 70 || !samples[1] || !samples[2])
		say_broken("samples: target=%d want=60, living=%d, new=%d", samples[0], samples[1],
			   samples[2]);
}

PROBE_MAIN
