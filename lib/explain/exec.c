/* SPDX-License-Identifier: MIT */
/*
 * Programs that get rights when they are executed: set-user-id, set-group-id, file capabilities.
 * Under no_new_privs, which a filter of an ordinary user takes, and under ptrace(2) they get none
 * (execve(2)), and what they ask then is answered as if they were somebody else.
 */
#define _GNU_SOURCE
#include "shape.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

bool exec_loses;

/* The bits of a script are not looked at. */
static bool is_script(const char *path)
{
	char head[2] = { 0 };
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const bool script = fd >= 0 && read(fd, head, 2) == 2 && memcmp(head, "#!", 2) == 0;

	if (fd >= 0)
		(void)close(fd);
	return script;
}

const char *exec_rights(const char *path)
{
	struct stat info;

	if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || is_script(path))
		return NULL;
	if ((info.st_mode & S_ISUID) && info.st_uid != geteuid())
		return "set-user-id";
	if ((info.st_mode & S_ISGID) && (info.st_mode & S_IXGRP) && info.st_gid != getegid())
		return "set-group-id";
	if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return "with capabilities of its file";
	return NULL;
}

static void remark(const char *name, const char *rights)
{
	char line[sizeof(remarks.changed[0])];

	snprintf(line, sizeof(line), "%.100s (%s)", name, rights);
	for (size_t i = 0; i < remarks.changed_count; i++)
		if (strcmp(remarks.changed[i], line) == 0)
			return;
	if (remarks.changed_count < sizeof(remarks.changed) / sizeof(remarks.changed[0]))
		memcpy(remarks.changed[remarks.changed_count++], line, sizeof(line));
}

void exec_look(const struct call *call)
{
	const bool at = call->which == CALL_EXEC_AT;
	char name[1024], path[1200];
	const char *rights;

	if (memory_text(call->tid, call->args[at], name, sizeof(name)) < 0)
		return;
	caller_begins(name);
	if (!exec_loses)
		return;
	if (name[0] == '/')
		snprintf(path, sizeof(path), "/proc/%d/root%s", call->tid, name);
	else if (!at || (int)call->args[0] == AT_FDCWD)
		snprintf(path, sizeof(path), "/proc/%d/cwd/%s", call->tid, name);
	else
		snprintf(path, sizeof(path), "/proc/%d/fd/%d%s%s", call->tid, (int)call->args[0],
			 name[0] ? "/" : "", name);
	rights = exec_rights(path);
	if (rights != NULL)
		remark(name, rights);
}
