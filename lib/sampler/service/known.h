/* SPDX-License-Identifier: MIT */
/*
 * Who the processes and threads of samples are, as the worker knows it by the notes in its queue: a
 * trace is told of both before the first sample of them, and again when it has begun anew.
 */
#ifndef SERVICE_KNOWN_H
#define SERVICE_KNOWN_H

#include "note.h"

#define KNOWN_SLOTS 4096

struct known {
	struct known_process *processes[KNOWN_SLOTS];
	struct known_thread *threads[KNOWN_SLOTS];
	size_t process_count, thread_count, most;
};

/* So many of each. */
void known_init(struct known *known, size_t most);
void known_free(struct known *known);

/* Takes what a note tells of a process or a thread: PROCESS, THREAD and those that have ended. */
void known_take(struct known *known, const struct note *note);

/* That trace, by its number below 64, has begun anew: to it all are new. */
void known_forget(struct known *known, unsigned int number);

/* Tells the trace of that number what it was not told yet of the process and thread of a note. */
int known_tell(struct known *known, unsigned int number, struct pm_perfetto *trace,
	       const struct note *note);

#endif
