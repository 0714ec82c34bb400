/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does an inherit event follow vfork(2)? The child runs in the parent's memory while the parent is
 * stopped, and many programs start others this way.
 * Observed: such a child causes page faults and reads the parent's counter before and after.
 */
#include "probe.h"

PROBE(TITLE("inherited counts of vfork")
      SINCE("2.6.31")
      POINT(vforked, "a child that shares memory, as vfork(2) makes it, is counted"))

#define FAULTS 23

struct shared {
	int fd;
	uint64_t before, after;
	int error;
};

static int fault_in_shared_memory(void *argument)
{
	struct shared *shared = argument;

	shared->error = cause_faults(1) ?: pm_read_count(shared->fd, &shared->before);
	if (!shared->error)
		shared->error = cause_faults(FAULTS);
	if (!shared->error)
		shared->error = pm_read_count(shared->fd, &shared->after);
	return 0;
}

TEST(vforked)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	const struct perf_event_attr attr = attr_counter(true);
	struct shared shared = { .fd = must_open(&attr, 0, -1, -1, 0) };
	pid_t child;

	memset(stack, 1, sizeof(stack));
	child = clone(fault_in_shared_memory, stack + sizeof(stack), CLONE_VM | CLONE_VFORK |
		      SIGCHLD, &shared);
	ASSERT_LT(0, child);
	ASSERT_EQ(0, wait_child(child));
	if (shared.error)
		say_unknown("in the child: %s", pm_errno_name(shared.error));
	if (shared.after - shared.before != FAULTS)
		say_broken("gained=%" PRIu64 " want=%d", shared.after - shared.before, FAULTS);
}

PROBE_MAIN
