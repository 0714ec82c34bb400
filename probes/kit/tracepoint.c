/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See tracepoint.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attrs.h"
#include "say.h"
#include "tracepoint.h"
#include "verdict.h"

/* What the environment says about a tracepoint: a word "system:event=id" of it. */
static int told_tracepoint(const char *system, const char *event)
{
	const char *at = getenv("PERFMODES_TRACEPOINTS");
	char key[128];
	int length = snprintf(key, sizeof(key), "%s:%s=", system, event);

	if (!at || length < 0 || (size_t)length >= sizeof(key))
		return -ENOENT;
	for (at += strspn(at, " "); *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		int id = 0, digits = 0;

		if (strncmp(at, key, length))
			continue;
		while (digits < 6 && at[length + digits] >= '0' && at[length + digits] <= '9')
			id = id * 10 + at[length + digits++] - '0';
		if (digits && (!at[length + digits] || at[length + digits] == ' '))
			return id;
	}
	return -ENOENT;
}

int tracepoint_id(const char *system, const char *event)
{
	int id = pm_tracepoint_id(system, event), told;

	if (id >= 0)
		return id;
	told = told_tracepoint(system, event);
	return told > 0 ? told : id;
}

void must_have_id(int id, const char *system, const char *event)
{
	if (id >= 0)
		return;
	require(REQUIRE_PERF | REQUIRE_TRACEFS);
	if (id == -EACCES || id == -EPERM)
		say_blocked("%s: the id of %s:%s is not readable for this user", pm_errno_name(id),
			    system, event);
	if (id == -ENOENT)
		say_absent("no tracepoint %s:%s (ENOENT)", system, event);
	say_unknown("the id of %s:%s: %s", system, event, pm_errno_name(id));
}

struct perf_event_attr must_tracepoint(const char *system, const char *event)
{
	int id = tracepoint_id(system, event);

	must_have_id(id, system, event);
	return attr_of(PERF_TYPE_TRACEPOINT, id);
}

static bool may_count_kernel(void)
{
	struct perf_event_attr attr = attr_software(PERF_COUNT_SW_PAGE_FAULTS);
	int fd;

	attr.exclude_kernel = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd != -EACCES && fd != -EPERM;
}

/* Whether an event for user mode alone counts one system call of this thread. */
static bool calls_count_as_user(void)
{
	struct perf_event_attr attr;
	uint64_t count = 0;
	int id = tracepoint_id("syscalls", "sys_enter_getppid"), fd;

	if (id < 0)
		return false;
	attr = attr_of(PERF_TYPE_TRACEPOINT, id);
	attr.disabled = 0;
	fd = pm_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return false;
	syscall(SYS_getppid);
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		count = 0;
	close(fd);
	return count == 1;
}

struct perf_event_attr must_call_tracepoint(const char *event)
{
	struct perf_event_attr attr = must_tracepoint("syscalls", event);

	attr.exclude_kernel = !may_count_kernel() && calls_count_as_user();
	return attr;
}

void cause_closes(int first, int count)
{
	for (int i = 0; i < count; i++)
		syscall(SYS_close, first + i);
}

void must_read_format(const char *system, const char *event, char *text, size_t size)
{
	char root[128], path[256];
	int error;

	require(REQUIRE_PERF | REQUIRE_TRACEFS);
	if (pm_tracefs_root(root, sizeof(root)))
		say_unknown("tracefs is not there any more");
	snprintf(path, sizeof(path), "%s/events/%s/%s/format", root, system, event);
	error = pm_read_text(path, text, size);
	if (error == -EACCES || error == -EPERM)
		say_blocked("the format of %s is not readable for this user", event);
	if (error == -ENOENT)
		say_absent("no format of a tracepoint %s:%s (ENOENT)", system, event);
	if (error <= 0)
		say_unknown("the format of %s: %s", event, pm_errno_name(error));
}

const char *syscall_field(const char *text)
{
	struct pm_trace_field field;

	return pm_tracepoint_field(text, "__syscall_nr", &field) < 0 ? "nr" : "__syscall_nr";
}

bool is_own_pid(int64_t common_pid)
{
	struct stat space;

	if (stat("/proc/self/ns/pid", &space) < 0 || space.st_ino != 0xeffffffc)
		return common_pid > 0;
	return common_pid == pm_gettid();
}
