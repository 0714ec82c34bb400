/* SPDX-License-Identifier: MIT */
/* What travels beside a stack through the worker's queue, and what has no stack at all. */
#ifndef SERVICE_NOTE_H
#define SERVICE_NOTE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../perfmodes_perfetto.h"

#define NOTE_VALUES 9

enum note_kind {
	NOTE_SAMPLE,
	NOTE_COUNTS,	/* of a counter that is polled */
	NOTE_PROCESS, NOTE_THREAD,	/* who it is; the name of one */
	NOTE_ENDED, NOTE_THREAD_ENDED,
	NOTE_LOST,
	NOTE_GUARDRAIL,
	NOTE_RATE,	/* values: the period and the frequency from here on */
	NOTE_KEEP,	/* outputs are to be whole on the disk; values[0]: ns since the begin;
			   values[1]: a mark is to stand behind it */
	NOTE_ROTATE,	/* its outputs begin anew; values[0]: ns since they were begun */
	NOTE_BARRIER	/* of a source: everything of it is in front */
};

struct note {
	struct note *next;	/* in the pool */
	enum note_kind kind;
	size_t source;		/* index */
	uint64_t time;
	uint32_t cpu, pid, tid, mode;
	int32_t parent;
	int64_t uid;
	enum pm_perfetto_skip skip;
	uint64_t values[NOTE_VALUES];	/* of the group, the leader's first; of LOST: how many */
	size_t value_count;
	char comm[16];
	char *text;		/* of PROCESS: its arguments; freed with the note */
	size_t text_size;
	uint64_t started;	/* of PROCESS: ticks since boot; 0: unknown */
	uint32_t inner_pids[8];
	bool kernel;
};

/* All notes there are: taken by the reader, given back by the worker. */
struct notes {
	pthread_mutex_t lock;
	struct note *all, *free;
	size_t count;
};

/* -ENOMEM. */
int notes_init(struct notes *notes, size_t count);
void notes_free(struct notes *notes);

/* A note that is all 0; NULL when all are on their way. */
struct note *note_take(struct notes *notes, enum note_kind kind);
void note_give(struct notes *notes, struct note *note);

#endif
