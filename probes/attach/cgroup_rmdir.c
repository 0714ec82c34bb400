/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of an event whose cgroup is removed? Containers come and go under system-wide
 * profilers. Observed: the event can still be read and stands still, and a new one is refused.
 */
#include "probe.h"
#include <stdio.h>
#include <sys/stat.h>

PROBE(TITLE("a cgroup removed under its event")
      SINCE("2.6.39")
      NEEDS("cgroup")
      DISTURBS("cgroups: makes one and removes it")
      HAZARD("kernels before 6.12.96 may use a freed cgroup and crash")
      POINT(survives, "the event reads on, unchanged, after its cgroup was removed")
      POINT(no_new, "a new event on the removed cgroup's directory is refused"))

#define PID_CGROUP (1ul << 2)

/* An event on a temporary cgroup that is removed at once. */
static int open_removed(struct __test_metadata *_metadata, int *directory)
{
	static const char *const roots[] = { "/sys/fs/cgroup/perf_event", "/sys/fs/cgroup",
					     "/sys/fs/cgroup/unified" };
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int cpu = move_to_nth_cpu(0);
	char path[96];

	close(must_open(&attr, -1, cpu, -1, 0));
	attr.disabled = 0;
	for (int i = 0; i < 3; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/perfmodes.%d", roots[i], getpid());
		if (mkdir(path, 0755) < 0)
			continue;
		*directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = pm_open(&attr, *directory, cpu, -1, PID_CGROUP);
		if (rmdir(path) < 0)
			cannot_tell("the temporary cgroup stays: %s", errno_name(errno));
		if (fd >= 0)
			return fd;
	}
	say_absent("no cgroup that takes part in perf can be made");
}

TEST(survives)
{
	int directory, fd = open_removed(_metadata, &directory);
	uint64_t gain = gain_of_faults(fd, NULL, 16);

	if (gain)
		broken("counted=%" PRIu64 " faults of nobody", gain);
}

TEST(no_new)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int directory, fd;

	open_removed(_metadata, &directory);
	fd = pm_open(&attr, directory, move_to_nth_cpu(0), -1, PID_CGROUP);
	if (fd >= 0)
		broken("an event on a removed cgroup is accepted");
}

PROBE_MAIN
