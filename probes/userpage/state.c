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
	struct sampler sampler = watch_faults();
	uint32_t first = page_of(&sampler)->lock;

	for (int i = 0; i < 1000; i++) {
		must_ioctl(sampler.fd, i & 1 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		if (page_of(&sampler)->lock & 1)
			say_broken("lock=%u between two calls of this very thread",
				   page_of(&sampler)->lock);
	}
	if (page_of(&sampler)->lock == first)
		say_broken("1000 changes of state and lock is still %u", first);
}

TEST(time_enabled)
{
	struct sampler sampler = watch_faults();
	struct pm_counts counts;

	if (!spin_until_timed(sampler.fd, NULL).time_enabled)
		say_broken("read(2): time_enabled=0 of an event that runs");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_EQ(0, pm_read_counts(sampler.fd, TIMES, &counts));
	/* The page is written at certain moments only; RESET is one of them and keeps the times. */
	must_ioctl(sampler.fd, PERF_EVENT_IOC_RESET, 0);
	if (page_of(&sampler)->time_enabled != counts.time_enabled ||
	    page_of(&sampler)->time_running != counts.time_running)
		say_broken("page: enabled=%" PRIu64 " running=%" PRIu64 " read(2): %" PRIu64
			   ",%" PRIu64,
			   page_of(&sampler)->time_enabled, page_of(&sampler)->time_running,
			   counts.time_enabled, counts.time_running);
}

PROBE_MAIN
