/* SPDX-License-Identifier: MIT */
/* The files that are written. After their opening they belong to the worker's thread. */
#ifndef SERVICE_OUTPUT_H
#define SERVICE_OUTPUT_H

#include <stdatomic.h>

#include "../../perfmodes_stacks.h"
#include "config.h"
#include "known.h"
#include "note.h"

#define TRACE_FRAMES 8192
#define TRACE_NAMES_BYTES (1u << 20)	/* of one stack; later frames have no names then */

struct output {
	const struct output_config *config;
	int fd;
	struct pm_folded *folded;
	int lines;			/* of a picture: its folded stacks until the end */
	struct pm_pprof *pprof;
	struct pm_perfetto *perfetto;
	struct outputs *all;
	int error;			/* the first one of writing, negative */
	uint64_t written, unwritten;	/* samples; those after the error */
	uint64_t whole;			/* of `written`: when it last was whole */
};

struct outputs {
	const struct config *config;
	struct output list[OUTPUTS];
	size_t count;
	struct pm_symbols *symbols;
	char *names;			/* copies of the names of one stack */
	struct pm_perfetto_frame *frames;
	struct known known;
	const struct note *note;	/* of the sample that is being written */
	atomic_size_t failed;		/* outputs with an error */
};

/* Creates all files. -errno, with a sentence. */
int outputs_open(struct outputs *outputs, const struct config *config, struct pm_symbols *symbols,
		 char *error, size_t size);

/* A sample with its stack; `unwinder` may be NULL. */
void outputs_stack(struct outputs *outputs, const struct note *note, struct pm_unwinder *unwinder,
		   const struct pm_stack *stack);

/* Everything else that a trace tells. */
void outputs_note(struct outputs *outputs, const struct note *note);

/* Writes what is left and closes; `duration` in ns. Returns how many have an error. */
size_t outputs_close(struct outputs *outputs, uint64_t duration);
void outputs_free(struct outputs *outputs);

/* ---- traces.c: outputs that are Perfetto's traces */

int trace_open(struct outputs *outputs, struct output *output);

/* A sample; the stack may be NULL. */
int trace_add(struct outputs *outputs, struct output *output, const struct note *note,
	      struct pm_unwinder *unwinder, const struct pm_stack *stack);

/* All of it is in the file; into a pipe or a socket a packet of no bytes goes behind it. */
int trace_flush(const struct output *output, bool mark);

/* Everything else. */
int trace_note(struct outputs *outputs, struct output *output, const struct note *note);

#endif
