/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an event live on when its descriptor is closed but its ring is still mapped? A profiler
 * with thousands of events would like to save the descriptors.
 * Observed by records that arrive after close(2). breakpoint.lifetime asks how munmap(2) ends it.
 */
#include "probe.h"

PROBE(TITLE("an event whose descriptor is closed while mapped")
      SINCE("2.6.31")
      POINT(number_is_gone, "reading a closed descriptor whose ring is mapped is EBADF")
      POINT(event_lives_on, "after close, each fault is still recorded in the mapped ring")
      POINT(two_mappings_hold_it, "after close, one of two mappings keeps the event alive"))

/* Enabled for as long as it lives: what cannot be reached cannot be disabled. */
static struct sampler closed_sampler(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ADDR);
	struct sampler sampler = must_sampler(&attr, 0, -1, 1);

	must_samples(sampler.fd, &sampler.ring, 5, "before close");
	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	return sampler;
}

TEST(number_is_gone)
{
	struct sampler sampler = closed_sampler();
	uint64_t value;
	int error;

	ASSERT_EQ(0, close(sampler.fd));
	error = pm_read_count(sampler.fd, &value);
	if (error != -EBADF || fcntl(sampler.fd, F_GETFD) >= 0)
		say_broken("read after close: %s, want EBADF", pm_errno_name(error));
}

TEST(event_lives_on)
{
	struct sampler sampler = closed_sampler();
	int before, found;

	must_close(sampler.fd);
	before = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	ASSERT_EQ(0, cause_faults(30));
	found = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	if (found == 0)
		say_no("no record of 30 faults after close, 5 of 5 before");
	if (found < 30)
		say_broken("records=%d want=30 after close (%d unread before)", found, before);
}

TEST(two_mappings_hold_it)
{
	struct sampler sampler = closed_sampler();
	void *second = mmap(NULL, sampler.ring.map_size, PROT_READ, MAP_SHARED, sampler.fd, 0);
	unsigned char resident;
	int found;

	if (second == MAP_FAILED)
		say_unknown("second mapping: %s", pm_errno_name(errno));
	must_close(sampler.fd);
	munmap(second, sampler.ring.map_size);
	if (mincore(second, probe_env()->page_size, &resident) == 0)
		say_unknown("the second mapping is still there after munmap");
	count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	ASSERT_EQ(0, cause_faults(30));
	found = count_records(&sampler.ring, PERF_RECORD_SAMPLE);
	if (found < 30)
		say_broken("records=%d want=30 with one of two mappings left", found);
}

PROBE_MAIN
