/* SPDX-License-Identifier: MIT */
/* A command that is run to be watched: it begins when its events are open. */
#ifndef SERVICE_LAUNCH_H
#define SERVICE_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct launch {
	pid_t pid;			/* 0: none, or it has ended */
	int gate;			/* a byte into it lets it begin; -1: it has begun */
	int told;			/* where it says that it cannot be run; -1: nowhere */
	bool begun, ended;
	bool refused;			/* it has ended, as the kernel did not run it */
	int status;			/* of waitpid(2), when it has ended */
};

/* Makes the process, which waits. Before there are threads and blocked signals. -errno. */
int launch_prepare(struct launch *launch, char **command);

/* Lets it begin. Without this call it ends with the caller and has run nothing. */
void launch_begin(struct launch *launch);

/* Whether it has ended; looked at without waiting. */
bool launch_ended(struct launch *launch);

/*
 * Ends what still runs by SIGTERM and waits a while. Returns an exit status as a shell has it: of
 * the command, 128 and a signal, or 0 where none was run or it still runs, which is told.
 */
int launch_close(struct launch *launch);

#endif
