/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a whole group be switched by its leader? It saves a system call for each member, and starts
 * all of them at the same moment.
 * Observed: exact page-fault counts of all three members after ENABLE with PERF_IOC_FLAG_GROUP, and
 * after DISABLE of the leader alone.
 */
#include "probe.h"

PROBE(TITLE("switching a group by its leader")
      SINCE("2.6.31")
      POINT(enable_group, "ENABLE with PERF_IOC_FLAG_GROUP starts every member")
      POINT(disable_leader, "DISABLE on the leader alone stops every member"))

#define FAULTS 6

/* Over the same faults every member gains that many. */
static void want_all(const int *fds, uint64_t want)
{
	uint64_t before[3], gain;

	ASSERT_EQ(0, cause_faults(1));
	for (int i = 0; i < 3; i++)
		before[i] = must_count(fds[i]);
	ASSERT_EQ(0, cause_faults(FAULTS));
	for (int i = 0; i < 3; i++) {
		gain = must_count(fds[i]) - before[i];
		if (gain != want)
			say_broken("member %d: gained=%" PRIu64 " want=%" PRIu64, i, gain, want);
	}
}

static void open_three(const struct perf_event_attr *attr, int *fds)
{
	for (int i = 0; i < 3; i++)
		fds[i] = must_open(attr, 0, -1, i ? fds[0] : -1, 0);
}

TEST(enable_group)
{
	const struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fds[3];

	open_three(&attr, fds);
	want_all(fds, 0);
	must_ioctl(fds[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	want_all(fds, FAULTS);
}

TEST(disable_leader)
{
	const struct perf_event_attr attr = attr_counter(false);
	int fds[3];

	open_three(&attr, fds);
	want_all(fds, FAULTS);
	must_ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	want_all(fds, 0);
}

PROBE_MAIN
