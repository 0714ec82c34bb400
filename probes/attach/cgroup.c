/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a group of tasks be watched by its cgroup? Containers are. Observed: the root cgroup, which
 * holds every task, on one CPU; and each of the wrong arguments. Nothing is created.
 * Linux e5d1367f17ba ("perf: Add cgroup support") (v2.6.39)
 */
#include "probe.h"

PROBE(TITLE("events of a cgroup")
      SINCE("2.6.39")
      COMMIT("e5d1367f17ba")
      NEEDS("cgroup")
      POINT(counts, "PERF_FLAG_PID_CGROUP with the root cgroup counts this task's 16 faults")
      POINT(needs_cpu, "without a CPU it is refused with EINVAL")
      POINT(no_pid, "pid -1 is refused with EINVAL")
      POINT(bad_descriptor, "a descriptor that is not open is refused with EBADF")
      POINT(no_cgroup, "a directory that is no cgroup is refused with EBADF")
      FACT(root, string, "-", "the cgroup file system that was used"))

#define PID_CGROUP (1ul << 2)

static const char *const roots[] = {
	"/sys/fs/cgroup/perf_event", "/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/dev/cg2_bpf",
	"/sys/fs/cgroup/perf_event,cpu",
};

static struct perf_event_attr running_faults(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 0;
	return attr;
}

static int try_root(int i, int cpu, int *directory)
{
	struct perf_event_attr attr = running_faults();

	*directory = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *directory < 0 ? -errno : pm_open(&attr, *directory, cpu, -1, PID_CGROUP);
}

/* An event of a root cgroup on the first CPU, and that cgroup. */
static int open_root(struct __test_metadata *_metadata, int *directory)
{
	struct perf_event_attr attr = running_faults();
	int fd = -ENOENT, cpu = move_to_nth_cpu(0), tried = 0;

	close(must_open(&attr, -1, cpu, -1, 0));
	for (int i = 0; i < 5 && fd < 0; i++) {
		fd = try_root(i, cpu, directory);
		if (fd >= 0)
			fact_str("root", "%s", roots[i]);
		tried += *directory >= 0;
	}
	if (fd == -EACCES || fd == -EPERM)
		say_blocked("cgroup event: %s", errno_name(fd));
	if (fd < 0)
		say_absent("%s", tried ? "no cgroup here takes part in perf (CONFIG_CGROUP_PERF)"
			   : "no cgroup file system is mounted at a usual place");
	return fd;
}

TEST(counts)
{
	int directory, fd = open_root(_metadata, &directory);
	uint64_t gain = gain_of_faults(fd, NULL, 16);

	if (gain < 16)
		broken("counted=%" PRIu64 " want>=16", gain);
}

static void refuse(struct __test_metadata *_metadata, pid_t pid, int cpu, int want,
		   const char *what)
{
	struct perf_event_attr attr = running_faults();

	hold_rule(pm_open(&attr, pid, cpu, -1, PID_CGROUP), want, BROKEN, what);
}

TEST(needs_cpu)
{
	int directory;

	open_root(_metadata, &directory);
	refuse(_metadata, directory, -1, EINVAL, "a cgroup without a CPU");
}

TEST(no_pid)
{
	int directory;

	open_root(_metadata, &directory);
	refuse(_metadata, -1, move_to_nth_cpu(0), EINVAL, "PID_CGROUP with pid -1");
}

TEST(bad_descriptor)
{
	int directory;

	open_root(_metadata, &directory);
	refuse(_metadata, 999999, move_to_nth_cpu(0), EBADF, "a descriptor that is not open");
}

TEST(no_cgroup)
{
	int directory;

	open_root(_metadata, &directory);
	refuse(_metadata, open("/proc", O_RDONLY | O_DIRECTORY), move_to_nth_cpu(0), EBADF, "/proc");
}

PROBE_MAIN
