/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does reading from user space work for a thread's own event and for every member of a group, and
 * does it end with the event?
 * Observed: user-space values, held against read(2).
 */
#include "probe.h"
#include "rdpmc.h"

PROBE(TITLE("whose counters user space may read")
      SINCE("3.4")
      NEEDS("pmu")
      POINT(own_thread, "a thread reads its own event in user space too")
      POINT(group, "leader and sibling have different indices, and both values agree")
      POINT(after_disable, "after DISABLE the index is 0 and read(2) keeps the value"))

static void *thread_value(void *ret)
{
	struct perf_event_attr attr = attr_user_counter(PERF_COUNT_HW_INSTRUCTIONS);
	struct pm_ring ring;
	int fd;

	attr.disabled = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0 && !pm_ring_open(fd, 0, PROT_READ | PROT_WRITE, &ring)) {
		spin_ns(100000);
		user_value(ring.base, ret);
	}
	return NULL;
}

TEST(own_thread)
{
	uint64_t value = 0;

	must_count_here();
	ASSERT_EQ(0, run_in_thread(thread_value, &value));
	if (!value)
		say_broken("a thread's own event cannot be read in user space");
}

TEST(group)
{
	struct sampler leader = must_count_here();
	struct sampler sibling = watch_counter(PERF_COUNT_HW_CPU_CYCLES, leader.fd);
	const volatile struct perf_event_mmap_page *first = leader.ring.base;
	const volatile struct perf_event_mmap_page *second = sibling.ring.base;

	spin_ns(100000);
	if (!second->index)
		say_absent("the sibling is on no counter that user space may read");
	if (first->index == second->index)
		say_broken("both events have index %u", first->index);
	must_lie_between(&leader);
	must_lie_between(&sibling);
}

TEST(after_disable)
{
	struct sampler sampler = must_count_here();
	uint64_t value, kept;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	kept = must_count(sampler.fd);
	if (user_value(sampler.ring.base, &value))
		say_broken("a disabled event still has an index");
	if (!kept || kept != must_count(sampler.fd))
		say_broken("read(2)=%" PRIu64 " then %" PRIu64, kept, must_count(sampler.fd));
}

PROBE_MAIN
