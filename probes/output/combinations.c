/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which events may share one ring? Many tasks on one CPU may, which is what a profiler with one
 * ring a CPU is built on; so may chains, inherited events, and events of different PMUs.
 * Observed by the records of the source in the target's ring.
 */
#include "probe.h"

PROBE(TITLE("events that may share a ring")
      SINCE("2.6.35")
      POINT(same_task, "two events of one task on any CPU")
      POINT(same_cpu_other_thread, "events of two threads on the same CPU")
      POINT(same_cpu_other_process, "events of two processes on the same CPU")
      POINT(same_cpu_inherited, "an inherited source into a target that is not; children too")
      POINT(any_cpu_inherited, "an inherited source of any CPU is accepted (nothing more is asked)")
      POINT(chain, "into an event that is itself redirected: the last ring gets the records")
      POINT(switch_target, "a redirected event may be redirected elsewhere")
      POINT(cpu_wide, "two events of a whole CPU")
      POINT(breakpoint_to_software, "a breakpoint into a software event of the same task")
      NEEDS("breakpoint")
      POINT(hardware_to_software, "a hardware event into a software event of the same task")
      NEEDS("pmu"))

static struct perf_event_attr plain;

static int home(void)
{
	int cpu = move_to_nth_cpu(0);

	plain = attr_faults(PERF_SAMPLE_TID);
	return cpu < 0 ? 0 : cpu;
}

/* Redirect, which must be accepted. Older kernels may not know a combination: that is a no. */
static void redirect(struct __test_metadata *_metadata, int source, struct watch *target)
{
	hold_rule(pm_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target->fd), 0, BROKEN, "SET_OUTPUT");
}

/* Samples of a task in the ring. */
static int samples_of(struct __test_metadata *_metadata, struct watch *target, pid_t tid)
{
	struct pm_record record;
	int found = 0;

	while (seek(target, PERF_RECORD_SAMPLE, &record))
		found += record.sample.sid.tid == (uint32_t)tid;
	return found;
}

TEST(same_task)
{
	struct watch target = (home(), must_watch(&plain, 0, -1, 1));
	int source = must_open(&plain, 0, -1, -1, 0), found;

	redirect(_metadata, source, &target);
	sample_faults(source, 9);
	found = samples_of(_metadata, &target, pm_gettid());
	if (found != 9)
		broken("records=%d want=9", found);
}

static int stay_home(void *unused)
{
	(void)unused;
	return move_to_nth_cpu(0) < 0;
}

static void share_with(struct __test_metadata *_metadata, enum worker_kind kind)
{
	int cpu = home(), source, found;
	struct watch target = must_watch(&plain, 0, cpu, 1);
	struct worker other;

	must_start(&other, kind);
	worker_do(&other, stay_home, NULL);
	source = must_open(&plain, other.tid, cpu, -1, 0);
	redirect(_metadata, source, &target);
	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	worker_faults(&other, 11);
	must_ioctl(source, PERF_EVENT_IOC_DISABLE, 0);
	found = samples_of(_metadata, &target, other.tid);
	worker_dismiss(&other);
	if (found != 11)
		broken("records=%d want=11 of the other task", found);
}

TEST(same_cpu_other_thread)
{
	share_with(_metadata, WORKER_THREAD);
}

TEST(same_cpu_other_process)
{
	share_with(_metadata, WORKER_CHILD);
}

TEST(same_cpu_inherited)
{
	int cpu = home(), source, found;
	struct perf_event_attr inherited = plain;
	struct watch target = must_watch(&plain, 0, cpu, 1);
	struct worker child;

	inherited.inherit = 1;
	source = must_open(&inherited, 0, cpu, -1, 0);
	redirect(_metadata, source, &target);
	must_start(&child, WORKER_THREAD);	/* on this CPU, as its maker */
	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	worker_faults(&child, 11);
	must_ioctl(source, PERF_EVENT_IOC_DISABLE, 0);
	found = samples_of(_metadata, &target, child.tid);
	worker_dismiss(&child);
	if (found != 11)
		broken("records=%d want=11 of a thread made after the redirection", found);
}

TEST(any_cpu_inherited)
{
	struct watch target = (home(), must_watch(&plain, 0, -1, 1));
	struct perf_event_attr inherited = plain;

	inherited.inherit = 1;
	redirect(_metadata, must_open(&inherited, 0, -1, -1, 0), &target);
	/* A kernel that says yes to everything would accept this as well. */
	hold_rule(pm_ioctl(target.fd, PERF_EVENT_IOC_SET_OUTPUT, target.fd), EINVAL, BROKEN,
		  "an event to itself");
}

TEST(chain)
{
	struct watch last = (home(), must_watch(&plain, 0, -1, 1));
	struct watch middle = { .fd = must_open(&plain, 0, -1, -1, 0) };
	int first = must_open(&plain, 0, -1, -1, 0), found;

	redirect(_metadata, middle.fd, &last);
	redirect(_metadata, first, &middle);
	sample_faults(first, 9);
	found = samples_of(_metadata, &last, pm_gettid());
	if (found != 9)
		broken("records=%d want=9 in the last ring", found);
}

TEST(switch_target)
{
	struct watch one = (home(), must_watch(&plain, 0, -1, 1));
	struct watch two = must_watch(&plain, 0, -1, 1);
	int source = must_open(&plain, 0, -1, -1, 0), found[2];

	redirect(_metadata, source, &one);
	sample_faults(source, 4);
	redirect(_metadata, source, &two);
	sample_faults(source, 9);
	found[0] = samples_of(_metadata, &one, pm_gettid());
	found[1] = samples_of(_metadata, &two, pm_gettid());
	if (found[0] != 4 || found[1] != 9)
		broken("records=%d,%d want=4,9", found[0], found[1]);
}

TEST(cpu_wide)
{
	int cpu = home(), source, found;
	struct watch target = must_watch(&plain, -1, cpu, 8);

	source = must_open(&plain, -1, cpu, -1, 0);
	redirect(_metadata, source, &target);
	sample_faults(source, 9);
	found = samples_of(_metadata, &target, pm_gettid());
	if (found < 9)
		broken("records=%d want>=9 of this thread", found);
}

TEST(breakpoint_to_software)
{
	static volatile int watched;
	struct watch target = (home(), must_watch(&plain, 0, -1, 1));
	struct perf_event_attr attr = attr_of(PERF_TYPE_BREAKPOINT, 0);
	int source, found;

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.sample_period = 1;
	attr.sample_type = plain.sample_type;
	source = must_open(&attr, 0, -1, -1, 0);
	hold_rule(pm_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target.fd), 0, BROKEN, "SET_OUTPUT");
	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 5; i++)
		watched = i;
	found = samples_of(_metadata, &target, pm_gettid());
	if (found != 5)
		broken("records=%d want=5", found);
}

/* A hardware event lives in another context of the same task: refused before v6.3. */
TEST(hardware_to_software)
{
	struct watch target = (home(), must_watch(&plain, 0, -1, 1));
	struct perf_event_attr attr = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	int source, error, same;

	require(REQUIRE_PERF | REQUIRE_CPU_PMU);
	attr.sample_period = 20011;
	attr.sample_type = plain.sample_type;
	source = must_open(&attr, 0, -1, -1, 0);
	same = must_open(&plain, 0, -1, -1, 0);
	redirect(_metadata, same, &target);
	error = pm_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	if (error == -EINVAL)
		say_no("EINVAL for a hardware event, ok for a software event");
	hold_rule(error, 0, BROKEN, "SET_OUTPUT");
	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(5000000);
	if (!samples_of(_metadata, &target, pm_gettid()))
		broken("no record of a cycle counter in 5 ms");
}

PROBE_MAIN
