/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cgroups for probes: the hierarchy where perf takes part, events of a cgroup, and temporary
 * cgroups that are gone afterwards whatever happens.
 */
#ifndef CGROUP_H
#define CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A running counter of page faults for all tasks of a cgroup on one CPU. Returns an event or
 * -errno. */
int cgroup_open(const char *path, int cpu, int leader);

/* Whether perf's id of a cgroup names the directory with that inode. A 32-bit kernel has the
 * inode in the lower half of the id and a generation in the upper one. */
static inline bool cgroup_id_is(uint64_t id, uint64_t inode)
{
	return id == inode || (sizeof(long) == 4 && (uint32_t)id == inode);
}

/* A cgroup, one below it, and one beside it. */
struct cgroups {
	char top[96], below[128], beside[128];
};
/* Make the three cgroups. A guard process removes them however this program ends. Returns 0 or
 * -errno. */
int cgroups_make(const char *root, struct cgroups *ret);
/* The same where perf takes part in them, found on a CPU. */
void must_make_cgroups(int cpu, struct cgroups *ret);
/* Remove them once their tasks have gone. */
void cgroups_remove(const struct cgroups *cgroups);
/* Move a task. Returns 0 or -errno. */
int cgroup_move(const char *path, pid_t task);

/* The path of the root of the hierarchy where perf takes part, found on a CPU. */
void must_cgroup_root(int cpu, char *path, size_t size);

#endif
