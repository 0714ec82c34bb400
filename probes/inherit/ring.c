/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Into which ring do the copies of an inherit event write? The kernel maps no ring for an inherit
 * event of any CPU, for many CPUs would write it at once; a tracer that follows threads needs one
 * event for each CPU, or one event that it does not map but forwards.
 * Observed: samples with the thread's tid in the ring, exactly as many as it caused page faults.
 */
#include "probe.h"

PROBE(TITLE("rings of inherited events")
      SINCE("2.6.34")
      POINT(any_cpu_unmappable, "EINVAL for mmap of an inherit event of any CPU")
      POINT(thread, "each fault of a new thread is in the ring of its CPU")
      POINT(child, "each fault of a forked child is in the ring of its CPU")
      POINT(other_cpu, "what it does on another CPU is not in that ring")
      NEEDS("cpu2")
      POINT(after_exit, "samples of a thread that has ended stay in the ring")
      POINT(forwarded_any_cpu, "an inherit event of any CPU, forwarded to an event that is not "
	    "inherited, puts a thread's samples into that one's ring"))

#define FAULTS 15

static struct perf_event_attr sampling(bool inherit)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	attr.disabled = 0;
	attr.inherit = inherit;
	return attr;
}

static struct watch watch_cpu(struct __test_metadata *_metadata, int *cpu)
{
	const struct perf_event_attr attr = sampling(true);

	*cpu = move_to_nth_cpu(0);
	ASSERT_LE(0, *cpu);
	return must_watch(&attr, 0, *cpu, 8);
}

static int samples_of(struct __test_metadata *_metadata, struct watch *watch, pid_t tid)
{
	struct pm_record record;
	int count = 0;

	while (seek(watch, PERF_RECORD_SAMPLE, &record))
		count += record.sample.sid.tid == (uint32_t)tid;
	return count;
}

static void want_samples(struct __test_metadata *_metadata, struct watch *watch,
			 struct worker *worker, int faults)
{
	int count;

	samples_of(_metadata, watch, 0);	/* drop those of the start */
	ASSERT_EQ(0, worker_faults(worker, FAULTS));
	count = samples_of(_metadata, watch, worker->tid);
	if (count != faults)
		broken("samples=%d want=%d", count, faults);
}

TEST(any_cpu_unmappable)
{
	struct perf_event_attr attr = sampling(true);
	int fd = must_open(&attr, 0, -1, -1, 0), error;
	struct pm_ring ring;

	error = pm_ring_open(fd, 1, PROT_READ | PROT_WRITE, &ring);
	attr.inherit = 0;
	must_map(must_open(&attr, 0, -1, -1, 0), 1, &ring);
	if (!error)
		say_no("the ring of an inherit event of any CPU can be mapped");
	if (error != -EINVAL)
		broken("errno=%s want=EINVAL", errno_name(error));
}

TEST(thread)
{
	struct worker worker;
	int cpu;
	struct watch watch = watch_cpu(_metadata, &cpu);

	must_start(&worker, WORKER_THREAD);
	want_samples(_metadata, &watch, &worker, FAULTS);
}

TEST(child)
{
	struct worker worker;
	int cpu;
	struct watch watch = watch_cpu(_metadata, &cpu);

	must_start(&worker, WORKER_CHILD);
	want_samples(_metadata, &watch, &worker, FAULTS);
	worker_stop(&worker);
}

static int move_away(void *unused)
{
	(void)unused;
	return move_to_nth_cpu(1) < 0 ? -ENODEV : 0;
}

TEST(other_cpu)
{
	struct worker worker;
	struct watch watch;
	int cpu;

	require(REQUIRE_PERF | REQUIRE_CPU2);
	watch = watch_cpu(_metadata, &cpu);
	must_start(&worker, WORKER_THREAD);
	want_samples(_metadata, &watch, &worker, FAULTS);
	ASSERT_EQ(0, worker_do(&worker, move_away, NULL));
	want_samples(_metadata, &watch, &worker, 0);
}

TEST(after_exit)
{
	struct worker worker;
	int cpu, count;
	struct watch watch = watch_cpu(_metadata, &cpu);
	pid_t tid;

	must_start(&worker, WORKER_THREAD);
	tid = worker.tid;
	samples_of(_metadata, &watch, 0);
	ASSERT_EQ(0, worker_faults(&worker, FAULTS));
	ASSERT_EQ(0, worker_stop(&worker));
	count = samples_of(_metadata, &watch, tid);
	if (count < FAULTS || count > 2 * FAULTS)
		broken("samples=%d want=%d", count, FAULTS);
}

TEST(forwarded_any_cpu)
{
	struct perf_event_attr attr = sampling(false);
	struct worker worker;
	struct watch target;
	int source;

	attr.disabled = 1;
	target = must_watch(&attr, 0, -1, 8);
	attr = sampling(true);
	source = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	must_start(&worker, WORKER_THREAD);
	want_samples(_metadata, &target, &worker, FAULTS);
}

PROBE_MAIN
