/* SPDX-License-Identifier: MIT */
/* What the DWARF of a file tells of an address. Not installed. */
#ifndef PM_STACKS_LINES_H
#define PM_STACKS_LINES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bag.h"

#define LINES_DEPTH_MAX 64		/* functions and blocks in one another */

/* Addresses from low to below high, and what is there. */
struct span {
	uint64_t low, high, what;
};

struct spans {
	struct span *list;
	size_t count, room;
};

/* A compilation unit. Its functions are read when an address in it is asked for. */
struct unit {
	Dwarf_Off die;
	struct spans functions;		/* what: offset of the DIE */
	bool read, has_lines;
};

/* A function at an address; names and files belong to the DWARF, `demangled` to the chain. */
struct chain_line {
	const char *name;
	char *demangled;		/* NULL: as it is */
	const char *file;
	unsigned int line;
};

/* All of an address, innermost first. */
struct chain_lines {
	size_t count;
	struct chain_line list[];
};

struct lines {
	Dwarf *dwarf;			/* NULL: none, or more than there may be in memory */
	struct unit *units;
	size_t unit_count;
	struct spans ranges;		/* what: the number of the unit */
	struct bag known;		/* chains by address */
	uint64_t bytes;			/* that all of it takes */
	bool looked;
};

/* Opens the DWARF of a file, if it has some and it takes no more than `limit` bytes. */
void lines_open(struct lines *lines, Elf *elf, uint64_t limit);

/* The functions at an address of the file, or NULL. They live until the next call. */
const struct chain_lines *lines_find(struct lines *lines, uint64_t address, bool mangled);

/* Before the file is closed. */
void lines_close(struct lines *lines);

#endif
