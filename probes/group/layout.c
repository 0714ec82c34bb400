/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which order does a group read, and whose value is whose? A reader that maps values to events
 * by position or by id needs both to be right.
 * Observed: each member counts a different, exact number of page faults and tells its own id, so
 * that any mix-up of the members shows.
 */
#include "probe.h"

PROBE(TITLE("order and ids of a group read")
      SINCE("2.6.32")
      POINT(order, "a group reads leader first, then siblings as they were opened, each with its "
	    "own value")
      POINT(ids, "each value of a group read carries the id that its own event reports")
      POINT(ioc_id, "PERF_EVENT_IOC_ID tells the same ids")
      SINCE("3.12"))

#define MEMBERS 4
#define GROUP_FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_ID)

FIXTURE(layout)
{
	int fds[MEMBERS];
	struct pm_counts group;
};

/* Members 1 to 3 read themselves alone. Member i counts 1 + ... + i faults less. */
FIXTURE_SETUP(layout)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	for (int i = 0; i < MEMBERS; i++) {
		attr.disabled = i > 0;
		attr.read_format = i == 0 ? GROUP_FORMAT : PERF_FORMAT_ID;
		self->fds[i] = must_open(&attr, 0, -1, i ? self->fds[0] : -1, 0);
	}
	if (cause_faults(1))
		say_unknown("no page faults");
	must_ioctl(self->fds[0], PERF_EVENT_IOC_RESET, 0);
	for (int i = 0; i < MEMBERS; i++) {
		must_ioctl(self->fds[i], PERF_EVENT_IOC_ENABLE, 0);
		if (cause_faults(i + 3))
			say_unknown("no page faults");
	}
	must_ioctl(self->fds[0], PERF_EVENT_IOC_DISABLE, 0);
	self->group = must_counts(self->fds[0], GROUP_FORMAT);
}

FIXTURE_TEARDOWN(layout)
{
}

TEST_F(layout, order)
{
	static const uint64_t want[MEMBERS] = { 3 + 4 + 5 + 6, 4 + 5 + 6, 5 + 6, 6 };

	if (self->group.nr != MEMBERS)
		say_broken("nr=%" PRIu64 " want=%d", self->group.nr, MEMBERS);
	for (int i = 0; i < MEMBERS; i++)
		if (self->group.member[i].value != want[i])
			say_broken("member %d: value=%" PRIu64 " want=%" PRIu64, i,
				   self->group.member[i].value, want[i]);
}

TEST_F(layout, ids)
{
	for (int i = 0; i < MEMBERS; i++)
		for (int j = 0; j < i; j++)
			if (self->group.member[i].id == self->group.member[j].id)
				say_broken("members %d and %d share id %" PRIu64, j, i,
					   self->group.member[i].id);
	for (int i = 1; i < MEMBERS; i++) {
		struct pm_counts alone = must_counts(self->fds[i], PERF_FORMAT_ID);

		if (self->group.member[i].id != alone.member[0].id)
			say_broken("member %d: id=%" PRIu64 " in the group, %" PRIu64 " alone", i,
				   self->group.member[i].id, alone.member[0].id);
	}
}

TEST_F(layout, ioc_id)
{
	for (int i = 0; i < MEMBERS; i++) {
		uint64_t id = 0;
		int error = pm_ioctl(self->fds[i], PERF_EVENT_IOC_ID, (unsigned long)&id);

		if (error == -ENOTTY)
			say_no("ENOTTY for PERF_EVENT_IOC_ID; other ioctls of the event work");
		if (error)
			say_unknown("PERF_EVENT_IOC_ID: %s", pm_errno_name(error));
		if (id != self->group.member[i].id)
			say_broken("member %d: id=%" PRIu64 " by ioctl, %" PRIu64 " by read", i, id,
				   self->group.member[i].id);
	}
}

PROBE_MAIN
