/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the ring say which namespaces a task is in? Samples are attributed to containers by it.
 * Observed: a child is started, a namespace is left; device and inode of each entry of the record
 * are compared with /proc/PID/ns.
 * Linux e422267322cd ("perf: Add PERF_RECORD_NAMESPACES ...") (v4.12)
 */
#include "probe.h"
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

PROBE(TITLE("namespaces in the ring")
      SINCE("4.12")
      POINT(on_fork, "a new task gives one NAMESPACES record with its pid and tid")
      POINT(inodes, "each entry has the device and inode of the task's own /proc/PID/ns link")
      POINT(on_unshare, "unshare(CLONE_NEWUTS) gives a record with the new UTS namespace")
      NEEDS("root")
      FACT(entries, int, "-", "namespaces named in a NAMESPACES record"))

static const char *const ns_names[NR_NAMESPACES] = {
	[NET_NS_INDEX] = "net",	  [UTS_NS_INDEX] = "uts", [IPC_NS_INDEX] = "ipc",
	[PID_NS_INDEX] = "pid",	  [USER_NS_INDEX] = "user", [MNT_NS_INDEX] = "mnt",
	[CGROUP_NS_INDEX] = "cgroup",
};

static struct sampler watch_namespaces(void)
{
	struct perf_event_attr attr = attr_sideband(), without = attr;

	attr.namespaces = 1;
	return ask_run_sampler(&attr, &without, 0, -1, 4, "namespaces");
}

/* The file of a task's namespace: inode 0 where there is none. */
static struct stat ns_file(pid_t pid, const char *name)
{
	char path[64];
	struct stat file;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	if (stat(path, &file))
		memset(&file, 0, sizeof(file));
	return file;
}

/* A device number as the kernel hands it out: 12 bits of major number between 20 of minor. */
static uint64_t encode(dev_t device)
{
	const unsigned int min = minor(device);

	return (min & 0xff) | major(device) << 8 | (uint64_t)(min & ~0xffu) << 12;
}

static void compare(const struct pm_record *record, pid_t pid)
{
	const struct perf_ns_link_info *entries = record->namespaces.entries;

	if (!ns_file(pid, "uts").st_ino)
		say_unknown("/proc/PID/ns is not readable");
	if (record->namespaces.nr != NR_NAMESPACES)
		say_broken("nr=%" PRIu64 " want=%d", record->namespaces.nr, NR_NAMESPACES);
	for (unsigned int i = 0; i < record->namespaces.nr; i++) {
		const struct stat want = ns_file(pid, ns_names[i]);

		if (entries[i].ino != want.st_ino || entries[i].dev != encode(want.st_dev))
			say_broken("%s: ino=%" PRIu64 " want=%ju, dev=%#" PRIx64 " want=%#" PRIx64,
				   ns_names[i], entries[i].ino, (uintmax_t)want.st_ino,
				   entries[i].dev, encode(want.st_dev));
	}
}

/* Start a child that waits; its pid, and the record of its birth. */
static pid_t start_seen(struct sampler *sampler, struct pm_record *ret)
{
	static struct worker child;

	must_start_worker(&child, WORKER_CHILD);
	if (!find_record(sampler, PERF_RECORD_NAMESPACES, ret))
		say_broken("no record of a new task");
	return child.tid;
}

TEST(on_fork)
{
	struct sampler sampler = watch_namespaces();
	struct pm_record record;
	const pid_t child = start_seen(&sampler, &record);

	if (record.namespaces.pid != (uint32_t)child || record.namespaces.tid != (uint32_t)child)
		say_broken("pid=%u tid=%u want=%d", record.namespaces.pid, record.namespaces.tid,
			   child);
	if (find_record(&sampler, PERF_RECORD_NAMESPACES, &record))
		say_broken("a second record of one new task");
}

TEST(inodes)
{
	struct sampler sampler = watch_namespaces();
	struct pm_record record;
	const pid_t child = start_seen(&sampler, &record);

	fact_int("entries", record.namespaces.nr);
	compare(&record, child);
}

TEST(on_unshare)
{
	struct sampler sampler = watch_namespaces();
	const struct perf_ns_link_info *entries;
	struct pm_record record;
	const ino_t before = ns_file(getpid(), "uts").st_ino;

	require(REQUIRE_ROOT);
	if (unshare(CLONE_NEWUTS))
		say_blocked("unshare(CLONE_NEWUTS): %s", pm_errno_name(errno));
	if (!find_record(&sampler, PERF_RECORD_NAMESPACES, &record))
		say_broken("no record of unshare");
	entries = record.namespaces.entries;
	if (record.namespaces.nr <= UTS_NS_INDEX || entries[UTS_NS_INDEX].ino == before)
		say_broken("the record does not name the new namespace");
	compare(&record, getpid());
}

PROBE_MAIN
