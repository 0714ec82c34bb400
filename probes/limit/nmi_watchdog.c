/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is there a hardware counter for this task although the NMI watchdog may have one?
 *
 * The watchdog takes a counter of each CPU for good. On machines with few of them, groups that
 * fitted before no longer do; a lone counter must still run. Observed: a pinned event, which runs
 * all the time or not at all.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("a counter beside the NMI watchdog")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(pinned_runs, "a pinned counter runs, whether or not the NMI watchdog has one")
      FACT(watchdog, bool, "-", "the NMI watchdog is on"))

TEST(pinned_runs)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	struct pm_counts counts = { .nr = 0 };
	int64_t watchdog = 0;
	int fd;

	must_have_counters();
	attr.pinned = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	pm_read_number("/proc/sys/kernel/nmi_watchdog", &watchdog);
	fact_bool("watchdog", watchdog);
	fd = must_open(&attr, 0, -1, -1, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	/* A scheduler clock may tick every 10 ms only. */
	for (int tries = 0; tries < 20 && !counts.time_running; tries++) {
		wake_and_spin(NULL);
		if (!pm_read_counts(fd, attr.read_format, &counts))
			continue;
		must_have_run();	/* a plain one does, and pinned ones come first */
		say_broken("one pinned counter does not fit (nmi_watchdog=%" PRId64 ")", watchdog);
	}
	if (counts.time_running)
		return;
	must_have_run();
	say_broken("one pinned counter never runs (nmi_watchdog=%" PRId64 ")", watchdog);
}

PROBE_MAIN
