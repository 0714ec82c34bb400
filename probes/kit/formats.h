/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The format file of a tracepoint, for the probes that hold raw data against it. Its id may be
 * known to who may not read it. Included behind probe.h.
 */
#ifndef FORMATS_H
#define FORMATS_H

#include <stdio.h>
#include <sys/stat.h>

static void read_format(const char *system, const char *event, char *text, size_t size)
{
	char root[128], path[256];
	int error;

	require(REQUIRE_PERF | REQUIRE_TRACEFS);
	ASSERT_EQ(0, pm_tracefs_root(root, sizeof(root)));
	snprintf(path, sizeof(path), "%s/events/%s/%s/format", root, system, event);
	error = pm_read_text(path, text, size);
	if (error == -EACCES || error == -EPERM)
		say_blocked("the format of %s is not readable for this user", event);
	if (error <= 0)
		say_unknown("the format of %s: %s", event, pm_errno_name(error));
}

/* Whether the common_pid of a sample may be this thread's. It is the number in the first PID
 * namespace (whose inode is fixed, PROC_PID_INIT_INO), and in another one nobody tells which. */
static inline bool is_own_pid(int64_t common_pid)
{
	struct stat space;

	if (stat("/proc/self/ns/pid", &space) < 0 || space.st_ino != 0xeffffffc)
		return common_pid > 0;
	return common_pid == pm_gettid();
}

#endif
