/* SPDX-License-Identifier: MIT */
/* A process that runs already, and what stands between it and us. */
#ifndef ATTACH_H
#define ATTACH_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct thread {
	char state;			/* as /proc/TID/status begins it */
	pid_t process;
	pid_t tracer;			/* a thread; 0: nobody traces it */
	char name[64];
};

/* Returns 0 or -errno. */
int thread_read(pid_t tid, struct thread *ret);

/* 0: it has none, or is gone. */
pid_t parent_of(pid_t pid);

/* Signals that end the look. */
const sigset_t *attach_signals(void);

/* How many events a process holds already. */
uint32_t attach_open_events(pid_t pid);

/* Why a process is not traced, where that failed with `error`. */
void attach_obstacle(pid_t pid, int error, char *ret, size_t size);

#endif
