/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of personas, suites/personas.txt. Its columns are explained there.
 */
#ifndef PERSONAS_H
#define PERSONAS_H

#include <stdbool.h>
#include <stdint.h>

#define PERSONA_NAME_SIZE 16

struct persona {
	char name[PERSONA_NAME_SIZE];
	long uid;			/* PERSONA_SAME_UID: of whoever starts the launcher */
	bool keeps_capabilities;	/* all; otherwise those in the mask and no others */
	uint64_t capabilities;
	bool refuses_perf;		/* a filter answers EPERM to perf_event_open */
};

#define PERSONA_SAME_UID (-1L)

/*
 * Reads the table, once. NULL: the suites/personas.txt in a folder above this program. Returns 0,
 * or -errno after a line on stderr.
 */
int personas_read(const char *path);

/* A row of the table; NULL when there is none of that name. */
const struct persona *personas_find(const char *name);

/* The same, after a line on stderr that tells which there are. */
const struct persona *personas_require(const char *name);

#endif
