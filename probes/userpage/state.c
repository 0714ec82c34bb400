/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is what changes in the user page in order: lock and times? Self-monitoring reads them without a
 * system call. The index of a software event: rdpmc.software.
 * Observed: the page of a software event that is enabled and disabled.
 */
#include "probe.h"
#include "userpage.h"

PROBE(TITLE("state in the user page")
      SINCE("2.6.31")
      POINT(lock_even, "lock is even while nobody writes")
      POINT(time_enabled, "times of a disabled event are what read(2) says, after RESET"))

TEST(lock_even)
{
	struct watch watch = watch_faults();
	uint32_t first = page_of(&watch)->lock;

	for (int i = 0; i < 1000; i++) {
		must_ioctl(watch.fd, i & 1 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		if (page_of(&watch)->lock & 1)
			broken("lock=%u between two calls of this very thread",
			       page_of(&watch)->lock);
	}
	if (page_of(&watch)->lock == first)
		broken("1000 changes of state and lock is still %u", first);
}

TEST(time_enabled)
{
	struct watch watch = watch_faults();
	struct pm_counts counts;

	if (!run_until_timed(watch.fd, NULL).time_enabled)
		broken("read(2): time_enabled=0 of an event that runs");
	must_ioctl(watch.fd, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, pm_read_counts(watch.fd, TIMES, &counts));
	/* The page is written at certain moments only; RESET is one of them and keeps the times. */
	must_ioctl(watch.fd, PERF_EVENT_IOC_RESET, 0);
	if (page_of(&watch)->time_enabled != counts.time_enabled ||
	    page_of(&watch)->time_running != counts.time_running)
		broken("page: enabled=%" PRIu64 " running=%" PRIu64 " read(2): %" PRIu64
		       ",%" PRIu64, page_of(&watch)->time_enabled, page_of(&watch)->time_running,
		       counts.time_enabled, counts.time_running);
}

PROBE_MAIN
