/* SPDX-License-Identifier: MIT */
/* The mappings of a profile. Not installed. */
#ifndef PM_STACKS_PPROF_MAPPINGS_H
#define PM_STACKS_PPROF_MAPPINGS_H

#include <stdbool.h>

#include "../perfmodes_stacks.h"
#include "bag.h"

struct pprof_mapping {
	uint64_t id;
	uint64_t start, limit, offset;	/* start and limit 0: no place is known */
	uint64_t file, build_id;	/* numbers of strings */
	uint64_t weight;		/* of the samples of which it is the program */
	bool used, unnamed, unlined, inlined;	/* locations: any; some without; some with */
};

struct pprof_mappings {
	struct bag keys;		/* from what it is of to 1 + its index */
	struct pprof_mapping *list;
	size_t count, room;
	size_t written;			/* of the list, from its begin */
	uint64_t ids;
};

/* What a mapping is known by: "file", "build id" in hex, its place in the file and its length. */
struct pprof_place {
	const char *file, *build_id;
	uint64_t start, end, offset;
	uint64_t linked;		/* of a program: where its file says that it begins */
	bool kernel, program;
};

void mappings_open(struct pprof_mappings *mappings);

/*
 * The mapping of a file, or of memory without one. A program is where its file says, for readers
 * that disassemble look there; all else is where the first process has it. Where another was put
 * before, it is moved to where nothing is. *ret_new: its `file` and `build_id` are to be filled in.
 * NULL: no memory.
 */
struct pprof_mapping *mappings_take(struct pprof_mappings *mappings,
				    const struct pprof_place *place, bool *ret_new);

/*
 * Puts the one with the most samples of its program to the front of those that are to be written,
 * for readers take the first of a profile for its program. Nothing is moved once some are written.
 */
void mappings_settle(struct pprof_mappings *mappings);

/* Forgets all; numbers go on. */
void mappings_clear(struct pprof_mappings *mappings);

#endif
