/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events whose ioctls are known to work. Included behind probe.h.
 */
#ifndef LIVE_H
#define LIVE_H

/* An event that was seen to count: only then does an errno of its ioctls say something. */
static inline int must_live(const struct perf_event_attr *attr)
{
	int fd = must_open(attr, 0, -1, -1, 0);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!must_count(fd))
		say_unknown("ENABLE has no effect: no answer of ioctl can be believed");
	return fd;
}

#endif
