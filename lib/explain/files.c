/* SPDX-License-Identifier: MIT */
/*
 * Files that programs look for before they ask: PMUs in sysfs, tracefs, registers of the CPU, what
 * programs of BPF are built with. Many give up where one is not there, and ask nothing; so what was
 * not to be had is kept, the last few of it, until the first call of perf_event_open(2).
 */
#define _GNU_SOURCE
#include "shape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const wanted[] = {
	"/sys/bus/event_source/", "/sys/devices/", "/sys/kernel/tracing", "/sys/kernel/debug",
	"/sys/kernel/btf/", "/sys/kernel/kheaders", "/sys/fs/bpf", "/proc/sys/kernel/perf_",
	"/proc/sys/kernel/kptr_restrict", "/proc/kallsyms", "/proc/kcore", "/dev/cpu/", "/dev/msr",
	"/lib/modules/", "/usr/lib/modules/",
};

/* Of /sys/devices: what tells of machines, and is no PMU. */
static const char *const others[] = {
	"/sys/devices/system/", "/sys/devices/virtual/", "/sys/devices/pci", "/sys/devices/LNX",
	"/sys/devices/platform/", "/sys/devices/pnp", "/sys/devices/vmbus", "/sys/devices/ibmebus",
};

struct files files;

static bool begins(const char *path, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(path, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

static bool is_wanted(const char *path)
{
	return begins(path, wanted, sizeof(wanted) / sizeof(wanted[0])) &&
		!begins(path, others, sizeof(others) / sizeof(others[0]));
}

/* Whether that argument, and not the first, is the path. */
static bool has_directory(enum which which)
{
	return which == CALL_FILE_OPEN_AT || which == CALL_FILE_ACCESS_AT ||
		which == CALL_FILE_ACCESS_AT2 || which == CALL_FILE_STAT_AT ||
		which == CALL_FILE_STATX;
}

/* By its whole path: what lies below a descriptor is not handed over (filter.c). */
static bool read_path(const struct call *call, char *ret)
{
	const uint64_t address = call->args[has_directory(call->which)];

	return memory_text(call->tid, address, ret, FILE_ROOM) >= 0 &&
		ret[0] == '/';
}

bool before_file(const struct call *call)
{
	char path[FILE_ROOM];

	return remarks.calls[CALL_OPEN] == 0 && read_path(call, path) &&
		is_wanted(path);
}

/* Below a PMU's folder most files may be missing; without the folder there is no PMU. */
static void shorten(char *path)
{
	static const char folder[] = "/sys/bus/event_source/devices/";
	char *end;

	if (strncmp(path, folder, strlen(folder)) != 0)
		return;
	end = strchr(path + strlen(folder), '/');
	if (end == NULL)
		return;
	*end = '\0';
	if (access(path, F_OK) == 0)
		*end = '/';
}

/* What a PMU may leave out, and nobody gives up for: an event has at most a unit and the like. */
static bool is_optional(const char *path)
{
	static const char folder[] = "/sys/bus/event_source/devices/";
	const char *event = strstr(path, "/events/");

	return strncmp(path, folder, strlen(folder)) == 0 &&
		strchr(path + strlen(folder), '/') != NULL &&
		(event == NULL || strchr(event, '.') != NULL);
}

/* Programs look for a file in one folder after the other: it is that file once. */
static void forget(const char *path)
{
	const char *name = strrchr(path, '/');

	for (size_t i = 0; name != NULL && name[1] != '\0' && i < files.count; i++)
		if (strcmp(strrchr(files.missing[i].path, '/'), name) == 0) {
			memmove(&files.missing[i], &files.missing[i + 1],
				(files.count - 1 - i) * sizeof(files.missing[0]));
			files.count--;
			return;
		}
}

void after_file(const struct call *call, int64_t result)
{
	struct missing made = { .error = 0 };

	if (result == RESULT_UNSEEN || !read_path(call, made.path))
		return;
	files.looked++;
	forget(made.path);
	if (result >= 0)
		return;
	made.error = (int)-result;
	for (char *c = made.path; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';		/* a path may hold anything, a screen not */
	shorten(made.path);
	if (is_optional(made.path))
		return;
	forget(made.path);
	if (files.count == MISSING)
		memmove(&files.missing[0], &files.missing[1], --files.count * sizeof(made));
	files.missing[files.count++] = made;
}
