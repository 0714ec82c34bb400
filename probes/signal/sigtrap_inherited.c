/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is an event with sigtrap inherited by every thread that is created after it, and do ioctls of the
 * one reach all?
 * Observed: one write by each of 5 threads that wait, before and after DISABLE, ENABLE and a change
 * by MODIFY_ATTRIBUTES.
 * Linux 2b26f0aa0049 ("perf: Support only inheriting events if cloned with CLONE_THREAD") (v5.13)
 */
#include "probe.h"
#include "breakpoint.h"
#include "sigtrap_threads.h"

PROBE(TITLE("inherited SIGTRAPs, switched and changed")
      SINCE("5.13")
      COMMIT("2b26f0aa0049")
      NEEDS("breakpoint")
      POINT(off_and_on, "a write traps no thread while the inherited event is disabled, and each "
	    "while it is enabled")
      POINT(moved, "MODIFY_ATTRIBUTES moves the inherited breakpoints of threads to another "
	    "variable")
      COMMIT("47f661eca070")
      POINT(new_data, "after MODIFY_ATTRIBUTES the SIGTRAPs of threads carry the new sig_data")
      SINCE("5.17")
      COMMIT("3c25fc97f559"))

TEST(off_and_on)
{
	struct worker workers[THREADS];
	int fd = must_trap(workers), seen[3];

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	seen[0] = trapped(workers, 0);
	must_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	seen[1] = trapped(workers, 0);
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	seen[2] = trapped(workers, 0);
	if (seen[0] != THREADS || seen[1] || seen[2] != THREADS)
		say_broken("traps on=%d off=%d on again=%d want=%d,0,%d", seen[0], seen[1], seen[2],
			   THREADS, THREADS);
}

static int must_move(struct worker *workers)
{
	struct perf_event_attr attr = trapping(2, SECOND_DATA);
	int fd = must_trap(workers);

	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (trapped(workers, 0) != THREADS)
		say_broken("not every thread is trapped before the change");
	attr.disabled = 0;
	must_modify(fd, &attr);
	return fd;
}

TEST(moved)
{
	struct worker workers[THREADS];
	int old, new;

	must_move(workers);
	old = trapped(workers, 0);
	new = trapped(workers, 2);
	if (old || new != THREADS)
		say_broken("traps of the old variable=%d want=0, of the new=%d want=%d", old, new,
			   THREADS);
}

TEST(new_data)
{
	struct worker workers[THREADS];

	must_move(workers);
	if (trapped(workers, 2) != THREADS)
		say_broken("not every thread is trapped after the change");
	if (last_data == FIRST_DATA)
		say_no("sig_data stays what it was, while the address changes");
	if (last_data != SECOND_DATA)
		say_broken("sig_data=%#lx want=%#lx", last_data, SECOND_DATA);
}

PROBE_MAIN
