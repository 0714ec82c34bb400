/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where do the samples of an inherit event of any CPU go? The kernel maps no ring for it, because
 * many CPUs would write to it at once (ring.mappings); it may be redirected to an event that is
 * mapped and not inherited.
 * Observed: samples of a new thread in the other event's ring.
 */
#include "probe.h"

PROBE(TITLE("inherit events of any CPU")
      SINCE("2.6.34")
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

TEST(forwarded_any_cpu)
{
	const struct perf_event_attr plain = attr_faults(PERF_SAMPLE_TID), attr = sampling(true);
	struct sampler target = must_sampler(&plain, 0, -1, 8);
	int source = must_open(&attr, 0, -1, -1, 0), count;
	struct worker worker;

	must_ioctl(source, PERF_EVENT_IOC_SET_OUTPUT, target.fd);
	must_start_worker(&worker, WORKER_THREAD);
	count = samples_of_faults(&target, &worker, FAULTS);
	if (count != FAULTS)
		say_broken("samples=%d want=%d", count, FAULTS);
}

PROBE_MAIN
