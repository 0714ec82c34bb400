/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How does the kernel answer wrong arguments with PERF_FLAG_PID_CGROUP? The pid is a descriptor
 * then, and a tool that confuses the two must be told. Observed: each wrong argument, after the
 * right ones have been accepted. Nothing is created.
 */
#include "probe.h"
#include "cgroup.h"

PROBE(TITLE("wrong arguments for events of a cgroup")
      SINCE("2.6.39")
      COMMIT("e5d1367f17ba")
      NEEDS("cgroup")
      POINT(needs_cpu, "without a CPU it is refused with EINVAL")
      POINT(no_pid, "pid -1 is refused with EINVAL")
      POINT(bad_descriptor, "a descriptor that is not open is refused with EBADF")
      POINT(no_cgroup, "a directory that is no cgroup is refused with EBADF"))

static void refuse(int directory, int cpu, int want, const char *what)
{
	const struct perf_event_attr attr = attr_counter(false);

	expect_refused(pm_open(&attr, directory, cpu, -1, PERF_FLAG_PID_CGROUP), want, BROKEN,
		       what);
}

TEST(needs_cpu)
{
	char root[96];

	must_cgroup_root(move_to_nth_cpu(0), root, sizeof(root));
	refuse(open(root, O_RDONLY | O_DIRECTORY), -1, EINVAL, "a cgroup without a CPU");
}

static int root_accepted(void)
{
	int cpu = move_to_nth_cpu(0);
	char root[96];

	must_cgroup_root(cpu, root, sizeof(root));
	return cpu;
}

TEST(no_pid)
{
	refuse(-1, root_accepted(), EINVAL, "PID_CGROUP with pid -1");
}

TEST(bad_descriptor)
{
	refuse(999999, root_accepted(), EBADF, "a descriptor that is not open");
}

TEST(no_cgroup)
{
	int cpu = root_accepted();

	refuse(open("/proc", O_RDONLY | O_DIRECTORY), cpu, EBADF, "/proc");
}

PROBE_MAIN
