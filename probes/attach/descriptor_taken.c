/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can an event be taken out of another process? pidfd_getfd(2) does that for anyone who may trace
 * the process.
 * Observed: a child's event on itself, opened there, read and mapped here.
 * Linux 8649c322f75c ("pid: Implement pidfd_getfd syscall") (v5.6)
 */
#include "probe.h"
#include "finding.h"
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

/* The calls are the question: a kernel without them says no. */
static int asked(long answer, const char *call)
{
	struct finding finding;

	if (answer >= 0)
		return (int)answer;
	classify_call(errno, call, &finding);
	if (finding.verdict == ABSENT)
		say_no("ENOSYS: the kernel has no %s", call);
	say(&finding);
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
	pidfd = asked(syscall(SYS_pidfd_open, child.tid, 0), "pidfd_open");
	fd = asked(syscall(SYS_pidfd_getfd, pidfd, theirs, 0), "pidfd_getfd");
	must_map(fd, 4, &ring);
	expect_gain(fd, &child, 16, 16);
	if (count_records(&ring, PERF_RECORD_SAMPLE) < 16)
		say_broken("the mapped ring of a taken descriptor misses samples");
}

PROBE_MAIN
