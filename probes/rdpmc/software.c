/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the page of a software event say by index 0 that there is no counter to read? Reading one
 * all the same would give a number without meaning.
 * Observed: the pages of five software events that count.
 */
#include "probe.h"

PROBE(TITLE("software events in the user page")
      SINCE("3.4")
      POINT(software, "index is 0 for each of five software events, while read(2) counts")
      POINT(software_no_rdpmc, "cap_user_rdpmc is 0 for a software event")
      SINCE("3.12"))

static uint32_t index_of(const struct sampler *sampler)
{
	return ((const volatile struct perf_event_mmap_page *)sampler->ring.base)->index;
}

TEST(software)
{
	static const uint64_t kinds[] = { PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_TASK_CLOCK,
					  PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_PAGE_FAULTS_MIN,
					  PERF_COUNT_SW_CONTEXT_SWITCHES };
	uint64_t counted = 0;

	for (int i = 0; i < 5; i++) {
		struct perf_event_attr attr = attr_software(kinds[i]);
		struct sampler sampler = must_sampler(&attr, 0, -1, 0);

		must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
		ASSERT_EQ(0, cause_faults(10));
		counted += must_count(sampler.fd);
		if (index_of(&sampler))
			say_broken("software event %d: index=%u", (int)kinds[i],
				   index_of(&sampler));
	}
	if (!counted)
		say_broken("none of the events counts by read(2) either");
}

TEST(software_no_rdpmc)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sampler sampler = must_sampler(&attr, 0, -1, 0);
	const volatile struct perf_event_mmap_page *page = sampler.ring.base;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(10));
	if (must_count(sampler.fd) < 10)
		say_broken("count=%" PRIu64 " of 10 faults", must_count(sampler.fd));
	if (!page->cap_bit0_is_deprecated)
		say_no("the capability bits are those of before v3.12");
	if (page->cap_user_rdpmc)
		say_broken("cap_user_rdpmc=1 for a software event");
}

PROBE_MAIN
