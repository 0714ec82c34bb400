/* SPDX-License-Identifier: MIT */
/* One process, told from others that may get its pid; not installed. */
#ifndef PM_DESCRIPTORS_PROCESS_H
#define PM_DESCRIPTORS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct process {
	int pid;
	int directory;		/* /proc/PID: stays with this very process */
	int pidfd;		/* -1 where the kernel has none (before v5.3) */
	uint64_t start_time;	/* clock ticks after boot */
};

/* Takes hold of a process. -ESRCH when there is none, -errno of open(2). */
int process_open(int pid, struct process *ret);
void process_close(struct process *process);

/*
 * False when it has ended; a process that waits to be reaped has, where there are pidfds. True also
 * while that cannot be told: for want of descriptors, for one.
 */
bool process_is_there(const struct process *process);

/* Its descriptors of maps and mem, [0] and [1]. -EACCES or -EPERM where that is not allowed. */
int process_open_memory(const struct process *process, int *fds);

/* Whether it has a handler for a signal. -ESRCH when it has ended, -errno of open(2). */
int process_handles(const struct process *process, int number);

/* Sends a signal with a value. -EPERM, -ESRCH, -EAGAIN when too many are queued. */
int process_signal(const struct process *process, int number, int value);

#endif
