/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can an event be taken out of another process? pidfd_getfd(2) does that for anyone who may trace
 * the process.
 * Observed: a child's event on itself, opened there, read and mapped here.
 * Linux 8649c322f75c ("pid: Implement pidfd_getfd syscall") (v5.6)
 */
#include "probe.h"
#include <sys/syscall.h>

PROBE(TITLE("a descriptor taken by pidfd_getfd")
      SINCE("5.6")
      COMMIT("8649c322f75c")
      POINT(counts, "a descriptor taken by pidfd_getfd reads and maps the same event"))

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static int open_sampling(void *unused)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_TID);

	(void)unused;
	attr.disabled = 0;
	return pm_open(&attr, 0, -1, -1, 0);
}

TEST(counts)
{
	struct perf_event_attr attr = attr_counter(false);
	struct pm_ring ring;
	struct worker child;
	int theirs, pidfd, fd;

	close(must_open(&attr, 0, -1, -1, 0));
	must_start_worker(&child, WORKER_CHILD);
	theirs = worker_do(&child, open_sampling, NULL);
	ASSERT_LE(0, theirs);
	pidfd = syscall(SYS_pidfd_open, child.tid, 0);
	fd = pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, theirs, 0);
	if (fd < 0 && errno == ENOSYS)
		say_no("ENOSYS: the kernel has no %s", pidfd < 0 ? "pidfd_open" : "pidfd_getfd");
	if (fd < 0)
		say_blocked("pidfd_getfd: %s", pm_errno_name(errno));
	must_map(fd, 4, &ring);
	expect_gain(fd, &child, 16, 16);
	if (count_records(&ring, PERF_RECORD_SAMPLE) < 16)
		say_broken("the mapped ring of a taken descriptor misses samples");
}

PROBE_MAIN
