/* SPDX-License-Identifier: MIT */
/* What /proc tells of one process; not installed. The texts there are its own: none is trusted. */
#ifndef PM_SAMPLER_PROC_H
#define PM_SAMPLER_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CMDLINE_SIZE 4096
#define CGROUP_SIZE 1024

struct proc_stat {
	uint32_t pid, parent;
	uint64_t started;	/* clock ticks since boot */
	bool kernel;		/* a kernel thread */
	char state;		/* 'R', 'S', 'Z'... */
	char comm[16];
};

/*
 * The text of /proc/PID/stat. The name between the parentheses may hold anything, parentheses and
 * line ends included. Returns 0, -EBADMSG.
 */
int pm_proc_parse_stat(const char *text, struct proc_stat *ret);

/* The real uid in the text of /proc/PID/status. Returns 0, -EBADMSG. */
int pm_proc_parse_uid(const char *text, uint32_t *ret);

/*
 * The pids in the text of /proc/PID/status behind the first, which is that of our namespace: up to
 * `room` of them. Returns how many; 0 also where the kernel tells none (before v4.1).
 */
size_t pm_proc_parse_inner(const char *text, uint32_t *ret, size_t room);

/*
 * The path in the text of /proc/PID/cgroup: of the second hierarchy ("0::/path"), else of the one
 * that has perf_event. Returns its length; -ENOENT, -E2BIG.
 */
int pm_proc_parse_cgroup(const char *text, char *buf, size_t size);

/* Arguments that end with 0 bytes each become a line with blanks; control characters become '?'. */
void pm_proc_join(char *text, size_t length);

/* All of it, of one process at one time. */
struct proc_look {
	struct proc_stat stat;
	uint32_t uid;			/* UINT32_MAX: unknown */
	char cmdline[CMDLINE_SIZE];	/* "" for kernel threads and zombies */
	char arguments[CMDLINE_SIZE];	/* the same as it is, with 0 bytes */
	size_t arguments_size;
	uint32_t inner[8];		/* pids in namespaces below ours; 0 ends them */
	char cgroup[CGROUP_SIZE];	/* "": unknown */
};

/*
 * Looks at a process, or a thread. All that is found is of one process: /proc/PID is opened once.
 * Returns 0; -ESRCH when it is gone; -errno of open(2).
 */
int pm_proc_look(uint32_t pid, struct proc_look *ret);

/* The same of its stat alone. */
int pm_proc_look_stat(uint32_t pid, struct proc_stat *ret);

/* Up to size - 1 bytes of a file of a folder; terminated. Its length, or -errno. */
int pm_proc_read_at(int folder, const char *name, char *buf, size_t size);

/* The stat in an open folder /proc/PID. 0, -ESRCH when it is gone, -errno of open(2), -EBADMSG. */
int pm_proc_stat_at(int folder, struct proc_stat *ret);

/* Calls `each` for the numbers in a folder of /proc ("/proc", "/proc/42/task"). 0, -errno. */
int pm_proc_each(const char *folder, int (*each)(uint32_t number, void *context), void *context);

#endif
