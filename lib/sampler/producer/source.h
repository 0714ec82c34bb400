/* SPDX-License-Identifier: MIT */
/* A data source that somebody has asked for, and the process that serves it. Not installed. */
#ifndef PRODUCER_SOURCE_H
#define PRODUCER_SOURCE_H

#include <stdbool.h>
#include <sys/types.h>

#include "shared.h"

struct data_source {
	uint64_t id;			/* traced's; 0: none, this place is free */
	char *json;			/* NULL: what was asked for cannot be done */
	struct writer writer;
	pid_t pid;			/* 0: no process */
	int fd;				/* a trace comes here; -1: its end has come */
	bool told_start, stopping;
	bool asked;			/* for a mark, which has not come yet */
	size_t used, room, packet_at, done;	/* of `held`; `done` bytes of its first packet */
	unsigned char *held;		/* of packets that are not whole yet */
};

/* What a turn of reading came to. */
enum source_turn {
	SOURCE_MORE,		/* nothing more is there for now */
	SOURCE_FULL,		/* shared memory is full: traced has to take what is complete */
	SOURCE_MARK,		/* all that was sampled before the mark was asked for is written */
	SOURCE_OVER		/* its trace has ended */
};

/* Starts its process. -errno. */
int data_source_start(struct data_source *source);

/* Asks for what it has, and for a mark behind it. */
void data_source_flush(struct data_source *source);

/* Asks it to refer to nothing that it has written so far. */
void data_source_forget(struct data_source *source);

/* Asks it to end in order. */
void data_source_stop(struct data_source *source);

/* Reads and writes what there is, up to what the turn returns. */
enum source_turn data_source_turn(struct data_source *source, struct shared *shared);

/* Frees the place; a process that is still there is ended. */
void data_source_free(struct data_source *source);

#endif
