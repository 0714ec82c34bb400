/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does attr.context_switch write down each time a task leaves and gets a CPU? It is the only
 * scheduling record that an unprivileged process may have.
 * Observed: a task ping-pongs with a child, or competes with it for one CPU; the records are held
 * against the kernel's own count of switches, getrusage(RUSAGE_THREAD), read inside and outside
 * of the enabled span: the truth lies between the two.
 * Linux 45ac1403f564 ("perf: Add PERF_RECORD_SWITCH to indicate context switches") (v4.3)
 */
#include "probe.h"
#include <sys/resource.h>

PROBE(TITLE("context switches in the ring")
      SINCE("4.3")
      COMMIT("45ac1403f564")
      NEEDS("cpu2")
      POINT(out_exact, "as many SWITCH records of leaving as getrusage counts switches")
      POINT(alternate, "out and in alternate, beginning with out")
      POINT(preempt, "leaving while still runnable is marked SWITCH_OUT_PREEMPT, exactly")
      SINCE("4.18")
      POINT(cpu_wide, "an event on a CPU gets SWITCH_CPU_WIDE with both tasks' tids")
      NEEDS("root"))

struct pong {
	struct gate ping, pong;
	int nth_cpu;
};

static int answer(void *argument)
{
	struct pong *pong = argument;

	move_to_nth_cpu(pong->nth_cpu);
	for (;;) {
		gate_wait(&pong->ping);
		gate_open(&pong->pong);
	}
	return 0;
}

static pid_t start_pong(struct __test_metadata *_metadata, struct pong *pong, int nth_cpu)
{
	pid_t child;

	pong->nth_cpu = nth_cpu;
	ASSERT_EQ(0, gate_init(&pong->ping));
	ASSERT_EQ(0, gate_init(&pong->pong));
	child = start_child(answer, pong);
	ASSERT_LT(0, child);
	return child;
}

static int busy(void *unused)
{
	(void)unused;
	move_to_nth_cpu(0);
	for (;;)
		spin_ns(1000000);
	return 0;
}


static struct rusage usage(void)
{
	struct rusage ret = { 0 };

	getrusage(RUSAGE_THREAD, &ret);
	return ret;
}

static struct watch ask_switches(struct __test_metadata *_metadata, pid_t pid, int cpu,
				 size_t pages)
{
	struct perf_event_attr attr = attr_sideband(), without;

	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	without = attr;
	attr.context_switch = 1;
	return ask_watch(&attr, &without, pid, cpu, pages, "context_switch");
}

TEST(out_exact)
{
	struct watch watch = ask_switches(_metadata, 0, -1, 8);
	struct rusage outer[2], inner[2];
	struct pm_record record;
	struct pong pong;
	pid_t child = start_pong(_metadata, &pong, 1);
	long low, high, out = 0;

	outer[0] = usage();
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	inner[0] = usage();
	for (int i = 0; i < 20; i++) {
		gate_open(&pong.ping);
		gate_wait(&pong.pong);
	}
	inner[1] = usage();
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	outer[1] = usage();
	kill(child, SIGKILL);
	low = inner[1].ru_nvcsw + inner[1].ru_nivcsw - inner[0].ru_nvcsw - inner[0].ru_nivcsw;
	high = outer[1].ru_nvcsw + outer[1].ru_nivcsw - outer[0].ru_nvcsw - outer[0].ru_nivcsw;
	while (seek(&watch, PERF_RECORD_SWITCH, &record))
		out += !!(record.misc & PERF_RECORD_MISC_SWITCH_OUT);
	if (high == 0)
		cannot_tell("20 round trips without a single switch");
	if (out < low || out > high)
		broken("records out=%ld, switches=%ld..%ld", out, low, high);
}

TEST(alternate)
{
	struct watch watch = ask_switches(_metadata, 0, -1, 8);
	struct pm_record record;
	struct pong pong;
	pid_t child = start_pong(_metadata, &pong, 1);
	int seen = 0;

	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 20; i++) {
		gate_open(&pong.ping);
		gate_wait(&pong.pong);
	}
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	kill(child, SIGKILL);
	for (; seek(&watch, PERF_RECORD_SWITCH, &record); seen++) {
		const int in = !(record.misc & PERF_RECORD_MISC_SWITCH_OUT);

		if (in != seen % 2)
			broken("record %d: misc=%#x", seen, record.misc);
		if (record.sid.tid != (uint32_t)pm_gettid())
			broken("record %d: tid=%u want=%d", seen, record.sid.tid, pm_gettid());
	}
	if (seen < 2 || seen % 2)
		broken("records=%d, want an even number", seen);
}

TEST(preempt)
{
	struct watch watch = ask_switches(_metadata, 0, -1, 8);
	struct rusage outer[2], inner[2];
	struct pm_record record;
	pid_t child;
	long low, high, preempted = 0;
	uint64_t end = now_ns() + 2000000000;

	ASSERT_LE(0, move_to_nth_cpu(0));
	child = start_child(busy, NULL);
	outer[0] = usage();
	must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
	inner[0] = usage();
	do
		inner[1] = usage();
	while (inner[1].ru_nivcsw < inner[0].ru_nivcsw + 2 && now_ns() < end);
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	outer[1] = usage();
	kill(child, SIGKILL);
	low = inner[1].ru_nivcsw - inner[0].ru_nivcsw;
	high = outer[1].ru_nivcsw - outer[0].ru_nivcsw;
	if (low == 0)
		cannot_tell("no preemption in two seconds beside a busy task");
	while (seek(&watch, PERF_RECORD_SWITCH, &record))
		preempted += (record.misc & PERF_RECORD_MISC_SWITCH_OUT) &&
			     (record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	if (preempted < low || preempted > high)
		broken("marked=%ld, involuntary switches=%ld..%ld", preempted, low, high);
}

/* Whether the ring holds a hand-over between us and the child, in both directions. */
static bool saw_both(struct __test_metadata *_metadata, struct watch *watch, uint32_t child)
{
	const uint32_t self = pm_gettid();
	struct pm_record record;
	bool out = false, in = false;

	while (seek(watch, PERF_RECORD_SWITCH_CPU_WIDE, &record)) {
		const uint32_t other = record.switch_cpu_wide.next_prev_tid;

		if (record.misc & PERF_RECORD_MISC_SWITCH_OUT)
			out |= record.sid.tid == self && other == child;
		else
			in |= record.sid.tid == self && other == child;
	}
	return out && in;
}

TEST(cpu_wide)
{
	int cpu = move_to_nth_cpu(0);
	struct watch watch = ask_switches(_metadata, -1, cpu, 32);
	struct pong pong;
	pid_t child = start_pong(_metadata, &pong, 0);

	ASSERT_LE(0, cpu);
	for (int round = 0; round < 50; round++) {
		must_ioctl(watch.fd, PERF_EVENT_IOC_ENABLE, 0);
		gate_open(&pong.ping);
		gate_wait(&pong.pong);
		must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
		if (saw_both(_metadata, &watch, child))
			return;
	}
	broken("50 hand-overs on CPU %d and no record names both tasks", cpu);
}

PROBE_MAIN
