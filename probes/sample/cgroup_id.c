/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does PERF_SAMPLE_CGROUP name the control group of the task, by the inode of its directory?
 * Observed: the sample of one page fault is compared with this task's own group, which is found
 * through /proc/self/cgroup.
 * Linux 6546b19f95ac ("perf/core: Add PERF_SAMPLE_CGROUP feature") (v5.7)
 */
#include "probe.h"
#include "cgroup.h"
#include <stdio.h>
#include <sys/stat.h>

PROBE(TITLE("control groups in samples")
      SINCE("5.7")
      COMMIT("6546b19f95ac")
      POINT(present, "PERF_SAMPLE_CGROUP gives a group id that is not 0")
      POINT(is_inode, "PERF_SAMPLE_CGROUP gives the inode of this task's own group directory")
      NEEDS("cgroup"))

static uint64_t sample_group(void)
{
	struct perf_event_attr attr = attr_faults(PERF_SAMPLE_CGROUP);
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_IP);
	struct sampler sampler = ask_sampler(&attr, &without, 0, -1, 1, "CGROUP");
	struct pm_record record;

	must_ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	ASSERT_EQ(0, cause_faults(1));
	if (!find_record(&sampler, PERF_RECORD_SAMPLE, &record))
		say_broken("no sample of a page fault");
	return record.sample.cgroup;
}

/* Directory of this task in the hierarchy that perf uses, or "" where it is not visible. */
static void own_directory(char *ret, size_t size)
{
	char own[2048] = "";
	const char *line, *root = "/sys/fs/cgroup/perf_event";

	ret[0] = 0;
	pm_read_text("/proc/self/cgroup", own, sizeof(own));
	line = strstr(own, "perf_event");
	if (!line) {
		root = "/sys/fs/cgroup";
		line = strstr(own, "0::");
		line = line ? line + 2 : NULL;
	} else {
		line = strchr(line, ':');
	}
	if (line)
		snprintf(ret, size, "%s%.*s", root, (int)strcspn(line + 1, "\n"), line + 1);
}

TEST(present)
{
	uint64_t id = sample_group();

	if (!id)
		say_broken("group id 0");
}

TEST(is_inode)
{
	uint64_t id = sample_group();
	struct stat directory;
	char path[2200];

	own_directory(path, sizeof(path));
	if (!path[0] || stat(path, &directory))
		say_absent("this task's control group is not visible under /sys/fs/cgroup");
	if (!cgroup_id_is(id, directory.st_ino))
		say_broken("id=%" PRIu64 " inode=%ju", id, (uintmax_t)directory.st_ino);
}

PROBE_MAIN
