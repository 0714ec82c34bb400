/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which bits of the system call's own flags argument does this kernel know?
 *
 * Each is asked by itself. attach.no_group_flag, output.flag and attach.cloexec ask what the flags
 * do, attr.unknown_bits about bits without a meaning.
 */
#include "probe.h"
#include "finding.h"

PROBE(TITLE("the flags of the system call")
      SINCE("2.6.31")
      POINT(fd_no_group, "FD_NO_GROUP is known: accepted without a group")
      SINCE("2.6.32")
      POINT(fd_output, "FD_OUTPUT is known: accepted without a group")
      SINCE("2.6.32")
      POINT(pid_cgroup, "PID_CGROUP is known: a bad cgroup descriptor is EBADF")
      SINCE("2.6.39")
      POINT(pid_cgroup_any_cpu, "PID_CGROUP without a CPU is EINVAL")
      SINCE("2.6.39")
      POINT(fd_cloexec, "FD_CLOEXEC makes the descriptor close-on-exec, and only it does")
      SINCE("3.14"))

static int open_with(unsigned long flags, int cpu)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.size = PERF_ATTR_SIZE_VER0;
	return pm_open_raw(&attr, 0, cpu, -1, flags);
}

/* The plain call works, and so does the one with the flag; otherwise the test ends here. */
static int ask_flag(unsigned long flag, const char *name)
{
	struct perf_event_attr attr = must_open_plain();
	struct finding finding;
	int fd;

	fd = open_with(flag, -1);
	if (fd >= 0)
		return fd;
	classify_asked(-fd, name, &attr, 0, -1, &finding);
	say(&finding);
}

TEST(fd_no_group)
{
	close(ask_flag(PERF_FLAG_FD_NO_GROUP, "PERF_FLAG_FD_NO_GROUP"));
}

TEST(fd_output)
{
	close(ask_flag(PERF_FLAG_FD_OUTPUT, "PERF_FLAG_FD_OUTPUT"));
}

TEST(pid_cgroup)
{
	struct perf_event_attr attr = must_open_plain();
	int error;

	error = pm_open(&attr, 0x7ffffff, 0, -1, PERF_FLAG_PID_CGROUP);
	if (error == -EINVAL)
		say_no("EINVAL for a bad cgroup descriptor: no control groups in perf");
	expect_refused(error, EBADF, BROKEN, "a cgroup descriptor that is none");
}

TEST(pid_cgroup_any_cpu)
{
	must_open_plain();
	expect_refused(open_with(PERF_FLAG_PID_CGROUP, -1), EINVAL, BROKEN, "PID_CGROUP, cpu -1");
}

TEST(fd_cloexec)
{
	int fd = ask_flag(PERF_FLAG_FD_CLOEXEC, "PERF_FLAG_FD_CLOEXEC");
	int plain = open_with(0, -1);

	if (fcntl(fd, F_GETFD) != FD_CLOEXEC || fcntl(plain, F_GETFD) != 0)
		say_broken("descriptor flags: with=%d without=%d", fcntl(fd, F_GETFD),
			   fcntl(plain, F_GETFD));
}

PROBE_MAIN
