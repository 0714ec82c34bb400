/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a SWITCH record tell a task that was pushed off its CPU from one that went to sleep? It is
 * the difference between too little CPU and waiting.
 * Observed: a task competes with a child for one CPU; the marks are held against the kernel's own
 * count of involuntary switches, read inside and outside of the enabled span.
 */
#include "probe.h"
#include <sys/resource.h>

PROBE(TITLE("preemption in the ring")
      SINCE("4.18")
      POINT(preempt, "leaving while still runnable is marked SWITCH_OUT_PREEMPT, exactly"))

static int busy(void *unused)
{
	(void)unused;
	move_to_nth_cpu(0);
	for (;;)
		spin_ns(1000000);
	return 0;
}

static long involuntary(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

TEST(preempt)
{
	struct perf_event_attr attr = attr_sideband(), without = attr;
	const uint64_t end = now_ns() + 2000000000;
	long outer, inner, least, most, preempted = 0;
	struct pm_record record;
	struct sampler sampler;
	pid_t child;

	attr.context_switch = 1;
	sampler = ask_sampler(&attr, &without, 0, -1, 8, "context_switch");
	ASSERT_LE(0, move_to_nth_cpu(0));
	child = start_child(busy, NULL);
	ASSERT_LT(0, child);
	outer = involuntary();
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	inner = involuntary();
	do
		least = involuntary() - inner;
	while (least < 2 && now_ns() < end);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	most = involuntary() - outer;
	kill(child, SIGKILL);
	if (!least)
		say_unknown("no preemption in two seconds beside a busy task");
	while (find_record(&sampler, PERF_RECORD_SWITCH, &record))
		preempted += (record.misc & PERF_RECORD_MISC_SWITCH_OUT) &&
			     (record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	if (preempted < least || preempted > most)
		say_broken("marked=%ld, involuntary switches=%ld..%ld", preempted, least, most);
}

PROBE_MAIN
