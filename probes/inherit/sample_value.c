/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose counter is in the samples of an inherit event? Each thread's own, not the sum that the
 * descriptor reads: a profiler that took it for the sum would be wrong.
 * Observed: the values in the samples of a thread, each counted up by one a sample, while its maker
 * has counted far more.
 * Linux 7e8b255650fc ("perf: Support PERF_SAMPLE_READ with inherit") (v6.12)
 */
#include "probe.h"

PROBE(TITLE("whose counter is in a sample")
      SINCE("6.12")
      COMMIT("7e8b255650fc")
      POINT(own_value, "the value in a thread's sample is the thread's own count")
      POINT(group, "a group's values in a thread's sample are the thread's own counts"))

#define FAULTS 20

static struct perf_event_attr sampling(bool inherit, uint64_t sample_type, uint64_t read_format)
{
	struct perf_event_attr attr = attr_faults(sample_type);

	attr.inherit = inherit;
	attr.read_format = read_format;
	return attr;
}

/*
 * The task faults 100 times and more before its thread comes; the thread's values must start low
 * all the same, and rise by exactly one a sample.
 */
static void judge(uint64_t read_format)
{
	const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_READ;
	struct perf_event_attr attr = sampling(true, type, read_format);
	struct perf_event_attr without = sampling(false, type, read_format);
	const int last = read_format & PERF_FORMAT_GROUP ? 1 : 0;
	uint64_t value, previous = 0;
	struct pm_record record;
	struct worker worker;
	struct sampler sampler;
	int cpu = move_to_nth_cpu(0), samples = 0;

	ASSERT_LE(0, cpu);
	sampler = ask_sampler(&attr, &without, 0, cpu, 16, "inherit, PERF_SAMPLE_READ and TID");
	attr.sample_period = 0;
	attr.disabled = 0;
	if (last)
		must_open(&attr, 0, cpu, sampler.fd, 0);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(200));
	must_start_worker(&worker, WORKER_THREAD);
	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		;
	ASSERT_EQ(0, worker_faults(&worker, FAULTS));
	while (find_record(&sampler, PERF_RECORD_SAMPLE, &record)) {
		if (record.sample.sid.tid != (uint32_t)worker.tid)
			continue;
		value = record.sample.read.member[last].value;
		if (record.sample.read.nr != (uint64_t)last + 1)
			say_broken("nr=%" PRIu64 " want=%d", record.sample.read.nr, last + 1);
		if (samples++ && value != previous + 1)
			say_broken("value=%" PRIu64 " after %" PRIu64, value, previous);
		previous = value;
	}
	if (samples != FAULTS)
		say_broken("samples=%d want=%d", samples, FAULTS);
	if (previous < FAULTS || previous >= 200)
		say_broken("last value=%" PRIu64 ", the thread's own count is near %d", previous,
			   FAULTS);
}

TEST(own_value)
{
	judge(0);
}

TEST(group)
{
	judge(PERF_FORMAT_GROUP);
}

PROBE_MAIN
