/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do inherited copies obey the descriptor of their parent? A tool switches counting on and off for
 * a whole program with one ioctl, and expects new tasks to begin as the others are.
 * Observed: exact gains while a thread, existing or new, causes page faults; records of samples
 * for the period.
 */
#include "probe.h"

#include <sys/prctl.h>

PROBE(TITLE("state of inherited events")
      SINCE("2.6.31")
      POINT(starts_enabled, "a copy of an enabled event counts, although attr.disabled is set")
      POINT(starts_disabled, "a copy of a disabled event does not, although attr.disabled is 0")
      POINT(enable_reaches, "ENABLE starts the copies of living threads and children")
      POINT(disable_reaches, "DISABLE stops the copies of living threads and children")
      POINT(prctl_reaches, "PR_TASK_PERF_EVENTS_DISABLE stops the copies as well")
      POINT(refresh, "EINVAL for REFRESH of an inherit event")
      POINT(period, "IOC_PERIOD changes the period of the target itself")
      FACT(period_of_living, bool, "-", "IOC_PERIOD reaches a thread that lives already")
      FACT(period_of_new, bool, "-", "a thread made after IOC_PERIOD has the new period"))

#define FAULTS 11

static int open_inherit(struct __test_metadata *_metadata, bool disabled)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = disabled;
	attr.inherit = 1;
	return must_open(&attr, 0, -1, -1, 0);
}

static void want(struct __test_metadata *_metadata, int fd, struct worker *worker, int faults)
{
	uint64_t gain = gain_of_faults(fd, worker, FAULTS);

	if (gain != (uint64_t)faults)
		broken("gained=%" PRIu64 " want=%d", gain, faults);
}

TEST(starts_enabled)
{
	int fd = open_inherit(_metadata, true);
	struct worker worker;

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	must_start(&worker, WORKER_THREAD);
	want(_metadata, fd, &worker, FAULTS);
}

TEST(starts_disabled)
{
	int fd = open_inherit(_metadata, false);
	struct worker worker;

	want(_metadata, fd, NULL, FAULTS);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	must_start(&worker, WORKER_THREAD);
	want(_metadata, fd, &worker, 0);
}

TEST(enable_reaches)
{
	int fd = open_inherit(_metadata, true);
	struct worker thread, child;

	must_start(&thread, WORKER_THREAD);
	must_start(&child, WORKER_CHILD);
	want(_metadata, fd, &thread, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	want(_metadata, fd, &thread, FAULTS);
	want(_metadata, fd, &child, FAULTS);
	worker_stop(&child);
}

TEST(disable_reaches)
{
	int fd = open_inherit(_metadata, false);
	struct worker thread, child;

	must_start(&thread, WORKER_THREAD);
	must_start(&child, WORKER_CHILD);
	want(_metadata, fd, &thread, FAULTS);
	want(_metadata, fd, &child, FAULTS);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	want(_metadata, fd, &thread, 0);
	want(_metadata, fd, &child, 0);
	worker_stop(&child);
}

TEST(prctl_reaches)
{
	int fd = open_inherit(_metadata, false);
	struct worker thread;

	must_start(&thread, WORKER_THREAD);
	want(_metadata, fd, &thread, FAULTS);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
	want(_metadata, fd, &thread, 0);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0));
	want(_metadata, fd, &thread, FAULTS);
}

/* Page faults, never a clock: REFRESH of a clock hangs some kernels. */
TEST(refresh)
{
	struct perf_event_attr attr = attr_faults(0);
	int fd = must_open(&attr, 0, -1, -1, 0), got;

	must_ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);	/* the control: accepted without inherit */
	attr.inherit = 1;
	fd = must_open(&attr, 0, -1, -1, 0);
	got = pm_ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
	if (got >= 0)
		say_no("REFRESH of an inherit event is accepted");
	if (got != -EINVAL)
		broken("errno=%s want=EINVAL", errno_name(got));
}

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
	struct watch watch;
	int cpu = move_to_nth_cpu(0), samples[3] = { 0 };

	ASSERT_LE(0, cpu);
	must_open(&attr, 0, -1, -1, 0);
	attr = attr_faults(PERF_SAMPLE_TID);
	attr.sample_period = 20;
	attr.inherit = 1;
	watch = must_watch(&attr, 0, cpu, 8);
	must_start(&living, WORKER_THREAD);
	must_ioctl(watch.fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&period);
	must_start(&new, WORKER_THREAD);
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(60));
	ASSERT_EQ(0, worker_faults(&living, 60));
	ASSERT_EQ(0, worker_faults(&new, 60));
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (seek(&watch, PERF_RECORD_SAMPLE, &record)) {
		const pid_t tid = record.sample.sid.tid;

		samples[tid == living.tid ? 1 : tid == new.tid ? 2 : 0]++;
	}
	fact_bool("period_of_living", samples[1] > 20);
	fact_bool("period_of_new", samples[2] > 20);
	/* The first of them may still have been counted down from the old period. */
	if (samples[0] < 60 - 20 || samples[0] > 70 || !samples[1] || !samples[2])
		broken("samples: target=%d want=60, living=%d, new=%d", samples[0], samples[1],
		       samples[2]);
}

PROBE_MAIN
