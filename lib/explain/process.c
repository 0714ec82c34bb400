/* SPDX-License-Identifier: MIT */
/* See attach.h. */
#define _GNU_SOURCE
#include "attach.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../pm_sys.h"

/* A newline in a name is escaped by the kernel, so a key begins its line. */
static const char *value_of(const char *status, const char *key)
{
	const char *found = strstr(status, key);

	return found != NULL ? found + strlen(key) : "";
}

int thread_read(pid_t tid, struct thread *ret)
{
	char path[64], status[4096];
	int err;

	memset(ret, 0, sizeof(*ret));
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	err = pm_read_text(path, status, sizeof(status));
	if (err < 0 && err != -EFBIG)
		return err;
	(void)sscanf(status, "Name: %63[^\n]", ret->name);
	for (char *at = ret->name; *at != '\0'; at++)
		if (!isprint((unsigned char)*at))
			*at = '?';
	(void)sscanf(value_of(status, "\nState:"), " %c", &ret->state);
	ret->process = (pid_t)strtol(value_of(status, "\nTgid:"), NULL, 10);
	ret->tracer = (pid_t)strtol(value_of(status, "\nTracerPid:"), NULL, 10);
	return 0;
}

pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *behind;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (pm_read_text(path, text, sizeof(text)) < 0)
		return 0;
	behind = strrchr(text, ')');		/* a name may hold anything */
	return behind != NULL && sscanf(behind, ") %*c %d", &parent) == 1 ? parent : 0;
}

const sigset_t *attach_signals(void)
{
	static sigset_t ret;

	sigemptyset(&ret);
	sigaddset(&ret, SIGINT);
	sigaddset(&ret, SIGTERM);
	sigaddset(&ret, SIGHUP);
	sigaddset(&ret, SIGALRM);
	return &ret;
}

uint32_t attach_open_events(pid_t pid)
{
	static const char kind[] = "anon_inode:[perf_event]";
	char path[64], target[64];
	const struct dirent *entry;
	uint32_t count = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	if (folder == NULL)
		return 0;
	while ((entry = readdir(folder)) != NULL) {
		const ssize_t length = readlinkat(dirfd(folder), entry->d_name, target,
						  sizeof(target));

		count += length == (ssize_t)strlen(kind) && memcmp(target, kind,
								   (size_t)length) == 0;
	}
	(void)closedir(folder);
	return count;
}

static bool is_kernel_thread(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return readlink(path, (char[2]){ 0 }, 1) < 0 && errno == ENOENT;
}

void attach_obstacle(pid_t pid, int error, char *ret, size_t size)
{
	struct thread thread, tracer;
	char scope[16] = "";

	if (error == ESRCH || thread_read(pid, &thread) < 0) {
		snprintf(ret, size, "there is no process %d", pid);
		return;
	}
	(void)pm_read_text("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (pid == getpid())
		snprintf(ret, size, "that is this process");
	else if (error != EPERM)
		snprintf(ret, size, "%s", strerror(error));
	else if (thread.tracer > 0)
		snprintf(ret, size, "process %d traces %s already, and a thread has one tracer: "
			 "end that, or have that one look", thread_read(thread.tracer, &tracer) == 0
			 ? tracer.process : thread.tracer, thread.name);
	else if (is_kernel_thread(pid))
		snprintf(ret, size, "%s is a thread of the kernel, which calls nothing",
			 thread.name);
	else if (scope[0] >= '1')
		snprintf(ret, size, "kernel.yama.ptrace_scope=%c lets %s be traced by %s: run "
			 "this as root, or start the program by explain", scope[0], thread.name,
			 scope[0] == '1' ? "its parents and by CAP_SYS_PTRACE" :
			 scope[0] == '2' ? "CAP_SYS_PTRACE alone" : "nobody until the next boot");
	else
		snprintf(ret, size, "%s is of somebody else, or has more rights than this "
			 "program: run this as root", thread.name);
}
