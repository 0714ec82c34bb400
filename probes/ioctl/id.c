/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does PERF_EVENT_IOC_ID tell the id that stands in the event's samples? Readers of a shared ring
 * find the event by it.
 * Observed: two events, a page fault on each.
 */
#include "probe.h"

PROBE(TITLE("the id of an event")
      SINCE("3.12")
      POINT(id_unique, "ID gives two events different ids that stay, the ones in their samples")
      SINCE("3.12"))

TEST(id_unique)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_ID);
	struct sampler samplers[2];
	uint64_t ids[2] = { 0 }, again = 0;
	struct pm_record record;

	for (int i = 0; i < 2; i++) {
		int answer;

		samplers[i] = must_sampler(&attr, 0, -1, 1);
		answer = pm_ioctl(samplers[i].fd, PERF_EVENT_IOC_ID, (uintptr_t)&ids[i]);
		if (answer)
			expect_answer(answer, 0, "ID");
		must_ioctl(samplers[i].fd, PERF_EVENT_IOC_ID, (uintptr_t)&again);
		if (again != ids[i])
			say_broken("event %d: id=%" PRIu64 ", then %" PRIu64, i, ids[i], again);
		must_ioctl(samplers[i].fd, PERF_EVENT_IOC_ENABLE, 0);
		ASSERT_EQ(0, cause_faults(1));
		must_ioctl(samplers[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		if (!find_record(&samplers[i], PERF_RECORD_SAMPLE, &record) ||
		    record.sample.sid.id != ids[i])
			say_broken("event %d: id in its sample is not %" PRIu64, i, ids[i]);
	}
	if (!ids[0] || ids[0] == ids[1])
		say_broken("ids=%" PRIu64 ",%" PRIu64, ids[0], ids[1]);
}

PROBE_MAIN
