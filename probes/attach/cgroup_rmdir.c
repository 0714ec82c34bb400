/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of an event whose cgroup is removed? Containers come and go under system-wide
 * profilers. Observed: the event can still be read and stands still, and a new one is refused.
 * The leave to crash the kernel includes the leave to make three cgroups for a moment.
 */
#include "probe.h"
#include "cgroup.h"

PROBE(TITLE("a cgroup removed under its event")
      SINCE("2.6.39")
      NEEDS("cgroup")
      HAZARD("kernels before 6.12.96 may use a freed cgroup and crash")
      POINT(survives, "the event reads on, unchanged, after its cgroup was removed")
      POINT(no_new, "a new event on the removed cgroup's directory is refused"))

/* An event on a temporary cgroup that is removed at once, and what is left of its directory. */
static int open_removed(int *directory)
{
	static struct cgroups cgroups;
	int fd, cpu = move_to_nth_cpu(0);

	must_make_cgroups(cpu, &cgroups);
	*directory = open(cgroups.beside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = cgroup_open(cgroups.beside, cpu, -1);
	cgroups_remove(&cgroups);
	if (access(cgroups.beside, F_OK) == 0)
		say_unknown("the temporary cgroup stays");
	if (fd < 0)
		say_unknown("an event on a new cgroup: %s", pm_errno_name(fd));
	return fd;
}

TEST(survives)
{
	int directory, fd = open_removed(&directory);

	expect_gain(fd, NULL, 16, 0);
}

TEST(no_new)
{
	const struct perf_event_attr attr = attr_counter(false);
	int directory, fd;

	open_removed(&directory);
	fd = pm_open(&attr, directory, move_to_nth_cpu(0), -1, PERF_FLAG_PID_CGROUP);
	if (fd >= 0)
		say_broken("an event on a removed cgroup is accepted");
}

PROBE_MAIN
