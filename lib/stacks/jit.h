/* SPDX-License-Identifier: MIT */
/* Names of code that a process made itself: /tmp/perf-PID.map, or a jitdump. Not installed. */
#ifndef PM_STACKS_JIT_H
#define PM_STACKS_JIT_H

#include <sys/types.h>

#include "table.h"

#define JIT_BYTES_MAX ((uint64_t)256 << 20)	/* read of one file, code included */
#define JIT_NAMES_MAX 1000000
#define JIT_MOVES_MAX 1000		/* each sorts the names again */
#define JIT_NAME_MAX 4096

/* Names in blocks, which do not move. */
struct block;

struct jit {
	struct table table;
	struct block *blocks;
	int fd;				/* of the file, while `open` */
	bool open, dump;		/* dump: a jitdump, else a perf map */
	uint64_t offset;		/* read so far */
	uint64_t looked_at;		/* ns, when the file was last looked for */
	unsigned int moves;
	uint32_t rank;			/* of the next name: a later one replaces an earlier one */
};

/*
 * Reads what was written since the last time. The file is the target's: not trusted, and what does
 * not look right is left out. Returns 0 or -ENOMEM.
 */
int jit_read(struct jit *jit);

/* Starts with a file, whose descriptor is taken over. */
void jit_open(struct jit *jit, int fd, bool dump);
void jit_free(struct jit *jit);

#endif
