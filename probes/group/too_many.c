/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to a group with more events than the CPU has counters? It is refused (EINVAL,
 * before v3.3 ENOSPC), or it opens and never runs. It must not open and count wrongly.
 * Observed: a group of hardware events grows until it is refused or gets no time to run; the
 * largest before that must count, and all its members alike.
 */
#include "probe.h"
#include "core_pmu.h"

PROBE(TITLE("a group larger than the counters")
      SINCE("2.6.31")
      NEEDS("pmu")
      POINT(ends, "a group that is too large is refused or never runs")
      POINT(largest_counts, "the largest accepted group runs, and its members agree")
      FACT(members, int, "events", "members of the largest group that ran")
      FACT(refusal, enum, "-", "errno of the sibling too many, or never_ran"))

#define MOST 32
#define FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* A group of `members`; 0, the errno of opening, or EAGAIN when it did not get to run. */
static int try_group(int members, struct pm_counts *counts)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	int fds[MOST], opened, error = 0;

	attr.read_format = FORMAT;
	for (opened = 0; opened < members && !error; opened++) {
		attr.disabled = opened == 0;
		fds[opened] = pm_open(&attr, 0, -1, opened ? fds[0] : -1, 0);
		if (fds[opened] < 0)
			error = -fds[opened--];
	}
	if (!error) {
		error = -pm_ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
		counts->time_running = 0;
		/* A scheduler clock may tick every 10 ms only. */
		for (int tries = 0; tries < 20 && !error && !counts->time_running; tries++) {
			wake_and_spin(NULL);
			error = -pm_read_counts(fds[0], FORMAT, counts);
		}
		if (!error && !counts->time_running)
			error = EAGAIN;
	}
	while (opened-- > 0)
		close(fds[opened]);
	return error;
}

FIXTURE(too_many)
{
	int largest, refusal;
	struct pm_counts counts;
};

FIXTURE_SETUP(too_many)
{
	struct perf_event_attr attr = attr_core(PERF_COUNT_HW_INSTRUCTIONS);
	struct pm_counts counts;

	must_have_counters();
	close(must_open(&attr, 0, -1, -1, 0));
	for (int members = 1; members <= MOST && !self->refusal; members++) {
		self->refusal = try_group(members, &counts);
		if (self->refusal)
			break;
		self->largest = members;
		self->counts = counts;
	}
}

FIXTURE_TEARDOWN(too_many)
{
}

TEST_F(too_many, ends)
{
	fact_int("members", self->largest);
	fact_str("refusal", "%s", self->refusal == EAGAIN ? "never_ran" :
		 pm_errno_name(self->refusal));
	if (!self->largest)
		say_unknown("not even one event ran: %s", pm_errno_name(self->refusal));
	if (!self->refusal)
		say_absent("%d instruction counters run at once here", MOST);
	if (self->refusal != EINVAL && self->refusal != ENOSPC && self->refusal != EAGAIN)
		say_broken("member %d: errno=%s want=EINVAL", self->largest + 1,
			   pm_errno_name(self->refusal));
}

TEST_F(too_many, largest_counts)
{
	if (!self->largest)
		say_unknown("not even one event ran: %s", pm_errno_name(self->refusal));
	/* The members start and stop one after the other: they differ by that much, not by half. */
	for (int i = 0; i < self->largest; i++)
		if (self->counts.member[i].value < self->counts.member[0].value / 2 ||
		    self->counts.member[i].value / 2 > self->counts.member[0].value)
			say_broken("member %d: %" PRIu64 " instructions, the leader %" PRIu64, i,
				   self->counts.member[i].value, self->counts.member[0].value);
}

PROBE_MAIN
