/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May events of different PMUs share a ring? A breakpoint counts as software; a hardware event
 * lives in another context of the same task, which kernels before v6.3 refused: such a profiler
 * needs a ring for each kind.
 * Observed by the records of the source in the ring of a software event.
 */
#include "probe.h"
#include "core_pmu.h"
#include "breakpoint.h"
#include "redirection.h"

PROBE(TITLE("events of other PMUs in a software event's ring")
      SINCE("2.6.35")
      POINT(breakpoint_to_software, "a breakpoint into a software event of the same task")
      NEEDS("breakpoint")
      POINT(hardware_to_software, "a hardware event into a software event of the same task")
      NEEDS("pmu"))

static volatile int watched;

/* The target and, behind it, proof that a software event is accepted. */
static struct sampler software_target(void)
{
	const struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);
	struct redirection pair = must_redirect(&attr);

	must_samples(pair.source, &pair.target.ring, 5, "a software source");
	return pair.target;
}

/* Open an event, redirect it and enable it. */
static int open_into(struct perf_event_attr attr, int target)
{
	int source, error;

	attr.sample_type = PERF_SAMPLE_TID;
	source = must_open(&attr, 0, -1, -1, 0);
	error = pm_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target);
	if (error == -EINVAL)
		say_no("EINVAL for an event of another PMU, ok for a software event");
	expect_refused(error, 0, BROKEN, "SET_OUTPUT");
	must_ioctl(source, PERF_EVENT_IOC_ENABLE, 0);
	return source;
}

TEST(breakpoint_to_software)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &watched, HW_BREAKPOINT_LEN_4);
	struct sampler target = software_target();
	int found;

	attr.sample_period = 1;
	open_into(attr, target.fd);
	for (int i = 0; i < 5; i++)
		watched = i;
	found = count_samples(&target, pm_gettid());
	if (found != 5)
		say_broken("records=%d want=5", found);
}

TEST(hardware_to_software)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_CPU_CYCLES);
	struct sampler target;

	must_have_counters();
	target = software_target();
	attr.sample_period = 20032;
	open_into(attr, target.fd);
	for (int round = 0; round < 50; round++) {
		spin_ns(5000000);
		if (count_samples(&target, pm_gettid()))
			return;
	}
	must_have_run();
	say_broken("no record of a cycle counter in 250 ms");
}

PROBE_MAIN
