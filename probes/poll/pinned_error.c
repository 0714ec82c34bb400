/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does poll say of a pinned event that the PMU had no room for? Nothing up to v6.14, then
 * POLLERR: a reader learns that it waits in vain.
 * Observed with more pinned cycle counters than any PMU has; those in error read as end of file.
 * Linux commit 0db61388b389 (v6.15)
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("poll of a pinned event in error")
      SINCE("6.15")
      COMMIT("0db61388b389")
      NEEDS("pmu")
      POINT(reports_error, "poll reports POLLERR for a pinned event that could not be scheduled")
      FACT(revents, int, "-", "what poll reports for a pinned event that could not be scheduled"))

#define MOST 40

TEST(reports_error)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_CPU_CYCLES);
	struct sampler samplers[MOST];
	int revents, failed = -1;

	must_have_counters();
	attr.pinned = 1;
	attr.disabled = 0;
	attr.sample_period = 1ull << 40;
	for (int i = 0; i < MOST && failed < 0; i++) {
		uint64_t value;

		samplers[i] = must_sampler(&attr, 0, -1, 1);
		spin_ns(1000000);
		if (pm_read_count(samplers[i].fd, &value) == -ENODATA)
			failed = i;
	}
	if (failed < 0)
		say_absent("this PMU has room for %d pinned cycle counters", MOST);
	revents = poll_once(samplers[failed].fd, POLLIN, 0);
	fact_int("revents", revents);
	if (!revents)
		say_no("poll of an event in error reports nothing");
	if (!(revents & POLLERR))
		say_broken("revents=%#x want POLLERR", revents);
}

PROBE_MAIN
