/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Do hundreds of events on one task all count, each exactly? A tracer opens threads times events,
 * and several libraries in one process watch the same thread without knowing of each other.
 * Observed: every one of them gains the same exact number of page faults; one prctl(2) or the
 * descriptors' ioctls start them.
 */
#include "probe.h"

#include <sys/prctl.h>
#include <sys/resource.h>

PROBE(TITLE("many events on one task")
      SINCE("2.6.31")
      POINT(each_exact, "hundreds of events on one task each count every fault")
      POINT(prctl_starts_all, "PR_TASK_PERF_EVENTS_ENABLE starts all that the task opened")
      POINT(prctl_stops_all, "PR_TASK_PERF_EVENTS_DISABLE stops them")
      FACT(opened, int, "events", "how many were opened at once (bounded by us at 300)"))

#define MANY 300
#define FAULTS 9

static int open_many(bool disabled, int *fds)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	struct rlimit limit;
	int count = 1, fd;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	attr.disabled = disabled;
	fds[0] = must_open(&attr, 0, -1, -1, 0);
	while (count < MANY && (fd = pm_open(&attr, 0, -1, -1, 0)) >= 0)
		fds[count++] = fd;
	if (count < 100)
		say_unknown("only %d events could be opened: %s", count, pm_errno_name(fd));
	return count;
}

/* Broken unless each of them gains that much over the same workload. */
static void want_each(const int *fds, int count, uint64_t want)
{
	uint64_t value;

	for (int i = 0; i < count; i++)
		must_ioctl(fds[i], PERF_EVENT_IOC_RESET, 0);
	ASSERT_EQ(0, cause_faults(FAULTS));
	for (int i = 0; i < count; i++) {
		value = must_count(fds[i]);
		if (value != want)
			say_broken("event %d of %d: counted=%" PRIu64 " want=%" PRIu64, i, count,
				   value, want);
	}
}

TEST(each_exact)
{
	int fds[MANY], count = open_many(false, fds);

	fact_int("opened", count);
	want_each(fds, count, FAULTS);
}

TEST(prctl_starts_all)
{
	int fds[MANY], count = open_many(true, fds);

	want_each(fds, count, 0);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0));
	want_each(fds, count, FAULTS);
}

TEST(prctl_stops_all)
{
	int fds[MANY], count = open_many(false, fds);

	want_each(fds, count, FAULTS);
	ASSERT_EQ(0, prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
	want_each(fds, count, 0);
}

PROBE_MAIN
