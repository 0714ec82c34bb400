/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What does a pinned event say that finds no counter? It must not pretend: it goes into an error
 * state in which read(2) gives end-of-file, until it is enabled again and finds one.
 * Observed: pinned hardware events are opened until one reads as end-of-file; when the others are
 * closed and it is enabled again, it counts.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("pinned events without a counter")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(end_of_file, "read gives 0 bytes for a pinned event that found no counter")
      POINT(others_count, "and the pinned events before it count on")
      POINT(recovers, "enabled again with counters free, it counts")
      FACT(pinned, int, "events", "pinned instruction counters that ran at once"))

#define MOST 40

FIXTURE(pinned)
{
	int fds[MOST], count, error;	/* the last one is in error, if error is -ENODATA */
};

FIXTURE_SETUP(pinned)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t value;

	must_have_counters();
	attr.pinned = 1;
	attr.disabled = 0;
	while (self->count < MOST && !self->error) {
		self->fds[self->count] = must_open(&attr, 0, -1, -1, 0);
		spin_ns(200000);
		self->error = pm_read_count(self->fds[self->count++], &value);
	}
	if (!self->error)
		say_absent("%d pinned instruction counters run at once here", MOST);
	if (self->count == 1) {
		must_have_run();	/* pinned events come first */
		say_broken("a plain event gets a counter and a pinned one does not: %s",
			   pm_errno_name(self->error));
	}
}

FIXTURE_TEARDOWN(pinned)
{
}

TEST_F(pinned, end_of_file)
{
	fact_int("pinned", self->count - 1);
	if (self->error != -ENODATA)
		say_broken("errno=%s want end of file", pm_errno_name(self->error));
}

TEST_F(pinned, others_count)
{
	uint64_t before, after;

	for (int i = 0; i < self->count - 1; i++) {
		before = must_count(self->fds[i]);
		spin_ns(100000);
		after = must_count(self->fds[i]);
		if (after <= before)
			say_broken("event %d of %d: %" PRIu64 " then %" PRIu64, i, self->count - 1,
				   before, after);
	}
}

TEST_F(pinned, recovers)
{
	int last = self->fds[self->count - 1];
	uint64_t value = 0;
	int error;

	for (int i = 0; i < self->count - 1; i++)
		close(self->fds[i]);
	must_ioctl(last, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(200000);
	error = pm_read_count(last, &value);
	if (error || !value)
		say_broken("read: %s, value=%" PRIu64, pm_errno_name(error), value);
}

PROBE_MAIN
