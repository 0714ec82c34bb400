/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a test needs (must_) and what it asks about (ask_): events, rings, ioctls, attributes of
 * PMUs and tracepoints. All of it ends the test with a verdict when it cannot be had.
 */
#ifndef OPEN_H
#define OPEN_H

#include <sys/types.h>

#include "../../lib/pm_sys.h"
#include "verdict.h"

/* Open what the test needs but does not ask about. Ends the test when it cannot be had. */
int must_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
	      unsigned long flags);
/* The plainest event opens, and is closed again: what is refused next is refused for its own sake.
 * Returns its attr, a disabled counter of user-mode page faults. */
struct perf_event_attr must_open_plain(void);
/* Open what the test asks about: on refusal, `without` decides between no, blocked and absent. */
int ask_open(const struct perf_event_attr *with, const struct perf_event_attr *without, pid_t pid,
	     int cpu, const char *what);
/* The legal twin of a rule opens, as one more demand on a sampling of page faults. */
void ask_legal(const struct perf_event_attr *attr, const char *what);
/* End the test unless `got` keeps the rule "refused with `want`" (probe_rule()). */
void expect_refused(int got, int want, enum verdict accepted, const char *what);
/* Two events of this task that can be had each, as a group: broken if the second may not join.
 * Then the leader is enabled; that starts both. */
void must_pair(const struct perf_event_attr *leader, struct perf_event_attr sibling, int *fds);
/* Map a ring the test needs. */
void must_map(int fd, size_t pages, struct pm_ring *ring);
/* An ioctl the test needs. */
void must_ioctl(int fd, unsigned long request, unsigned long arg);
/* An ioctl the test asks about: refused while RESET works on the same event, it is a "no". */
void ask_ioctl(int fd, unsigned long request, unsigned long arg, const char *what);
/* A close that has happened: the number is free afterwards. */
void must_close(int fd);
/* An attr for a tracepoint's user-mode hits; ends the test where its id cannot be had. */
struct perf_event_attr must_tracepoint(const char *system, const char *event);
/* An attr for a PMU that has no number of its own; ends the test where sysfs does not have it. */
struct perf_event_attr must_pmu(const char *name);
/* Call a function for each PMU of sysfs, as pm_pmu_each() does. */
void visit_pmus(int (*each)(const char *, void *), void *context);
/* That file of /proc/sys/kernel is there. Missing while others are to be seen it is a "no". */
void ask_setting(const char *path);
/* Put a value where sysfs says that a PMU's attr has it ("uprobe", "retprobe"). */
void must_place(const char *pmu, const char *field, uint64_t value, struct perf_event_attr *attr);
/* An attr for a function of this very program, by file and offset. */
struct perf_event_attr must_uprobe(int (*function)(int));
/* Open that; ends the test as absent where no code can be probed in this program's file. */
int open_uprobe(const struct perf_event_attr *attr);
/* Move a breakpoint by MODIFY_ATTRIBUTES. */
void must_modify(int fd, const struct perf_event_attr *attr);
/* The answer to a task without privilege: 0 or -errno. Blocked where such have no events at all. */
int ask_unprivileged(const struct perf_event_attr *attr, pid_t pid, int cpu);
/* Where perf takes part in cgroups: the path of that root, found on a CPU (cgroup_root()). */
void must_cgroup_root(int cpu, char *path, size_t size);

#endif
