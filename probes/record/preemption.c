/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a SWITCH record tell a task that was preempted from one that went to sleep? It is the
 * difference between too little CPU and waiting.
 * Observed: a task sleeps, and competes with a child for one CPU. Records with the mark and without
 * it are compared with the kernel's own counts of involuntary and voluntary switches, read inside
 * and outside of the enabled span. A kernel older than the mark sets it on no record.
 */
#include "probe.h"
#include <sys/resource.h>

PROBE(TITLE("preemption in the ring")
      SINCE("4.18")
      POINT(preempt, "each involuntary switch is marked SWITCH_OUT_PREEMPT, and no voluntary one"))

static int busy(void *unused)
{
	(void)unused;
	move_to_nth_cpu(0);
	for (;;)
		spin_ns(1000000);
	return 0;
}

struct switches {
	long voluntary, involuntary;
};

static struct switches switches_so_far(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return (struct switches){ usage.ru_nvcsw, usage.ru_nivcsw };
}

static struct switches since(struct switches before)
{
	const struct switches now = switches_so_far();

	return (struct switches){ now.voluntary - before.voluntary,
				  now.involuntary - before.involuntary };
}

/* Sleep, and compete with a child for the CPU; how often this thread was switched away from. */
static void switch_both_ways(int fd, struct switches *ret_least, struct switches *ret_most)
{
	const uint64_t end = now_ns() + 2000000000;
	struct switches outer, inner;
	pid_t child;

	ASSERT_LE(0, move_to_nth_cpu(0));
	child = start_child(busy, NULL);
	ASSERT_LT(0, child);
	outer = switches_so_far();
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	inner = switches_so_far();
	cause_switches(3);
	do
		*ret_least = since(inner);
	while (ret_least->involuntary < 2 && now_ns() < end);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	*ret_most = since(outer);
	kill(child, SIGKILL);
}

TEST(preempt)
{
	struct perf_event_attr attr = attr_sideband(), without = attr;
	struct switches least, most, seen = { 0 };
	struct pm_record record;
	struct sampler sampler;

	attr.context_switch = 1;
	sampler = ask_sampler(&attr, &without, 0, -1, 8, "context_switch");
	switch_both_ways(sampler.fd, &least, &most);
	if (!least.involuntary || !least.voluntary)
		say_unknown("involuntary switches=%ld voluntary=%ld in two seconds beside a busy "
			    "task", least.involuntary, least.voluntary);
	while (find_record(&sampler, PERF_RECORD_SWITCH, &record)) {
		if (!(record.misc & PERF_RECORD_MISC_SWITCH_OUT))
			continue;
		seen.involuntary += !!(record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
		seen.voluntary += !(record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	}
	if (!seen.involuntary && seen.voluntary >= least.voluntary + least.involuntary)
		say_no("%ld switches are recorded, at least %ld of them involuntary, none marked",
		       seen.voluntary, least.involuntary);
	if (seen.involuntary < least.involuntary || seen.involuntary > most.involuntary ||
	    seen.voluntary < least.voluntary || seen.voluntary > most.voluntary)
		say_broken("marked=%ld involuntary=%ld..%ld, not marked=%ld voluntary=%ld..%ld",
			   seen.involuntary, least.involuntary, most.involuntary, seen.voluntary,
			   least.voluntary, most.voluntary);
}

PROBE_MAIN
