/* SPDX-License-Identifier: MIT */
/* Open questions and the connections that may answer them; not installed. */
#ifndef PM_DESCRIPTORS_H
#define PM_DESCRIPTORS_H

#include "../../perfmodes_descriptors.h"
#include "process.h"

#define CONNECTIONS 64		/* at a time */
#define CONNECTIONS_EACH 4	/* of one process */
#define LATE 256		/* questions that timed out, remembered */

struct question {
	struct process process;
	int token;
	unsigned int attempts;	/* left */
	uint64_t asked, again, deadline;	/* ns of CLOCK_MONOTONIC */
};

struct connection {
	int fd;			/* -1: a free place */
	int pid;
	uint32_t serial;	/* what epoll calls it: an event of a closed one finds nothing */
};

struct pm_descriptors {
	struct pm_descriptors_opts opts;
	struct pm_descriptors_stats stats;
	char *path;		/* to be removed; NULL for none */
	int epoll, listener;	/* listener: -1 when nobody is asked by signal */
	struct question *questions;
	size_t count, room;
	struct connection connections[CONNECTIONS];
	uint32_t serial;
	int late[LATE];
	size_t late_at;
};

struct question *question_find(struct pm_descriptors *descriptors, int pid);

/*
 * Ends a question: closes its connections, removes it, and calls back. `fds` may be NULL. The
 * callback may ask again, so that no pointer to a question is good any more.
 */
void question_end(struct pm_descriptors *descriptors, struct question *question,
		  enum pm_descriptors_outcome outcome, int error, const int *fds);

/* Connections that nobody waits for any more. */
void connections_close(struct pm_descriptors *descriptors, int pid);

/* Takes what is there, `turn` events at most. Returns how many there were. */
int connections_serve(struct pm_descriptors *descriptors, int turn);

#endif
