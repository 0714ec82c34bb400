/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that this process has started, and what that has. See descendants.h.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descendants.h"

#define EXITING 4u			/* PF_EXITING of the kernel, in proc_pid_stat(5) "flags" */

struct process {
	pid_t pid, parent;
	bool ours, exiting;
};

/*
 * What /proc/<pid>/stat tells of a process; the name in it may hold spaces and brackets. One that
 * has ended has no parent.
 */
static void look_at_process(const char *pid, struct process *process)
{
	char path[64], text[512], *bracket;
	unsigned int flags = 0;
	ssize_t length;
	int fd, parent;
	char state;

	*process = (struct process){ .pid = atoi(pid) };

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return;
	text[length] = '\0';
	bracket = strrchr(text, ')');
	if (!bracket ||
	    sscanf(bracket, ") %c %d %*d %*d %*d %*d %u", &state, &parent, &flags) != 3 ||
	    state == 'Z')
		return;
	process->parent = parent;
	process->exiting = flags & EXITING;
}

static size_t list_processes(struct process *list, size_t size)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	while (proc && count < size && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		look_at_process(entry->d_name, &list[count++]);
	}
	if (proc)
		closedir(proc);
	return count;
}

int kill_descendants(int number)
{
	static struct process list[16384];
	const size_t count = list_processes(list, sizeof(list) / sizeof(*list));
	const pid_t self = getpid();
	int killed = 0;
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < count; i++) {
			bool parent_ours = list[i].parent == self;

			for (size_t j = 0; j < count && !parent_ours; j++)
				parent_ours = list[j].ours && list[j].pid == list[i].parent;
			if (parent_ours && !list[i].ours)
				more = list[i].ours = true;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].ours)
			killed += kill(list[i].pid, number) == 0 && !list[i].exiting;
	return killed;
}
