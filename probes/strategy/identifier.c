/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a reader parse a ring that events of different layouts share? Only IDENTIFIER has a place
 * that does not depend on the layout.
 * Observed: two events with different fields sample the same page faults into one ring.
 */
#include "probe.h"

PROBE(TITLE("telling events of a shared ring apart")
      SINCE("3.12")
      POINT(identifiers, "IDENTIFIER tells which event a sample is of, and so its layout"))

TEST(identifiers)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR);
	struct perf_event_attr other = attr_faults(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
						   PERF_SAMPLE_PERIOD);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_ADDR);
	const struct perf_event_header *header;
	uint64_t ids[2] = { 0 }, id;
	int seen[2] = { 0 }, second;
	struct sampler leader;

	leader = ask_sampler(&attr, &without, 0, -1, 8, "IDENTIFIER");
	/* Another event, for a fault may give the same one only once: see sample.shared_hit. */
	other.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	second = must_open(&other, 0, -1, -1, 0);
	must_ioctl(second, PERF_EVENT_IOC_SET_OUTPUT, leader.fd);
	must_ioctl(leader.fd, PERF_EVENT_IOC_ID, (uintptr_t)&ids[0]);
	must_ioctl(second, PERF_EVENT_IOC_ID, (uintptr_t)&ids[1]);
	must_ioctl(leader.fd, PERF_EVENT_IOC_ENABLE, 0);
	must_ioctl(second, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(10));
	while (pm_ring_next(&leader.ring, &header) == 1) {
		if (pm_record_identifier(header, &id) || (id != ids[0] && id != ids[1]))
			say_broken("a record of size %u belongs to nobody", header->size);
		seen[id == ids[1]]++;
		if (header->size != (id == ids[1] ? 32 : 24))
			say_broken("id %" PRIu64 ": size=%u", id, header->size);
	}
	if (seen[0] < 10 || seen[1] < 10)
		say_broken("samples of the leader=%d of the source=%d want>=10 each", seen[0],
			   seen[1]);
}

PROBE_MAIN
