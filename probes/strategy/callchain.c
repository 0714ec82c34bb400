/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a library get call chains without any privilege? Both the event and the chain have to leave
 * the kernel out then.
 * Observed: the call chain of a fault of this thread, which must lead into its own user mode code.
 */
#include "probe.h"

PROBE(TITLE("call chains in user mode")
      SINCE("3.7")
      POINT(callchain, "with both kernel exclusions a call chain is taken and filled")
      SINCE("3.7"))

TEST(callchain)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_IP);
	struct pm_record record;
	struct sampler sampler;

	attr.exclude_callchain_kernel = 1;
	sampler = must_sampler(&attr, 0, -1, 2);
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of this thread's own fault");
	if (record.sample.callchain_nr < 2)
		say_broken("a call chain of %" PRIu64 " words", record.sample.callchain_nr);
	if (record.sample.callchain[0] != (uint64_t)PERF_CONTEXT_USER ||
	    record.sample.callchain[1] != record.sample.ip)
		say_broken("the chain begins with %#" PRIx64 " %#" PRIx64 ", ip=%#" PRIx64,
			   record.sample.callchain[0], record.sample.callchain[1],
			   record.sample.ip);
}

PROBE_MAIN
