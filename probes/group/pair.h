/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two events as a group. Included behind probe.h.
 */
#ifndef PAIR_H
#define PAIR_H

/* Two events of this task that can be had each, as a group: broken if the second may not join.
 * Then the leader is enabled; that starts both. */
static inline void must_pair(const struct perf_event_attr *leader, struct perf_event_attr sibling,
			     int *fds)
{
	sibling.disabled = 0;
	close(must_open(&sibling, 0, -1, -1, 0));
	fds[0] = must_open(leader, 0, -1, -1, 0);
	fds[1] = pm_open(&sibling, 0, -1, fds[0], 0);
	if (fds[1] < 0)
		say_broken("type %u joins no leader of type %u: %s", sibling.type, leader->type,
			   pm_errno_name(fds[1]));
	must_ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
}

/* Broken unless a sibling with that attr joins a leader, is started by it and counts page faults.
 * Returns the sibling. */
static inline int expect_join(struct perf_event_attr attr, int leader)
{
	int sibling;

	attr.disabled = 0;
	sibling = must_open(&attr, 0, -1, leader, 0);
	must_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	expect_gain(sibling, NULL, 3, 3);
	return sibling;
}

#endif
