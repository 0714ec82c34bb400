/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can an event be opened close-on-exec in one step? Without the flag, a program started by another
 * thread between open and fcntl(2) keeps the event. Observed: the descriptor's flag, and which
 * descriptors are still open after execve(2) of this same program.
 * Linux a21b0b354d4a ("perf: Introduce a flag to enable close-on-exec in perf_event_open()")
 * (v3.14)
 */
#include "probe.h"
#include <stdio.h>
#include <stdlib.h>

PROBE(TITLE("close-on-exec from the start")
      SINCE("3.14")
      COMMIT("a21b0b354d4a")
      POINT(sets_flag, "PERF_FLAG_FD_CLOEXEC gives a descriptor with FD_CLOEXEC")
      POINT(off_by_default, "without the flag the descriptor has no FD_CLOEXEC")
      SINCE("2.6.31")
      POINT(gone_after_exec, "a descriptor opened with the flag is gone after execve")
      POINT(stays_after_exec, "a descriptor opened without the flag survives execve")
      SINCE("2.6.31"))

#define FD_CLOEXEC_FLAG (1ul << 3)
#define STILL_THERE 10
#define NOT_THERE 11

static int open_with(unsigned long flags)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.size = PERF_ATTR_SIZE_VER0;
	return pm_open_raw(&attr, 0, -1, -1, flags);
}

static int open_cloexec(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd = open_with(FD_CLOEXEC_FLAG);

	if (fd >= 0)
		return fd;
	close(must_open(&attr, 0, -1, -1, 0));
	if (fd == -EINVAL)
		say_no("EINVAL with PERF_FLAG_FD_CLOEXEC, ok without");
	say_unknown("open with PERF_FLAG_FD_CLOEXEC: %s", pm_errno_name(fd));
}

static int open_plain(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	close(must_open(&attr, 0, -1, -1, 0));
	return open_with(0);
}

TEST(sets_flag)
{
	int flags = fcntl(open_cloexec(), F_GETFD);

	if (flags != FD_CLOEXEC)
		say_broken("F_GETFD=%d want=%d", flags, FD_CLOEXEC);
}

TEST(off_by_default)
{
	int flags = fcntl(open_plain(), F_GETFD);

	if (flags != 0)
		say_broken("F_GETFD=%d want=0", flags);
}

/* The new program looks for the descriptor before it would run its tests. */
static void __attribute__((constructor)) look(void)
{
	const char *fd = getenv("PROBE_DESCRIPTOR");

	if (fd)
		_exit(fcntl(atoi(fd), F_GETFD) < 0 ? NOT_THERE : STILL_THERE);
}

static int execute(void *fd)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", *(int *)fd);
	setenv("PROBE_DESCRIPTOR", text, 1);
	execl("/proc/self/exe", PROBE_ID, (char *)NULL);
	return 1;
}

static int after_exec(int fd)
{
	int status = wait_child(start_child(execute, &fd));

	if (status != STILL_THERE && status != NOT_THERE)
		say_unknown("the new program ended with %d", status);
	return status;
}

TEST(gone_after_exec)
{
	if (after_exec(open_cloexec()) != NOT_THERE)
		say_broken("the descriptor survived execve");
}

TEST(stays_after_exec)
{
	if (after_exec(open_plain()) != STILL_THERE)
		say_broken("the descriptor did not survive execve");
}

PROBE_MAIN
