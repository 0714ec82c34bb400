/* SPDX-License-Identifier: MIT */
/* Every register that a program may use, loaded with a pattern and looked at again. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdint.h>

#include "../../perfmodes_ebb.h"

/* registers.S knows the offsets. */
struct registers {
	uint64_t gpr[32];			/* 0; 1, 2 and 13 are taken, not loaded */
	uint64_t lr, ctr, xer, cr;		/* 256 */
	uint64_t fpscr, unused;			/* 288 */
	uint64_t vscr[2];			/* 304 */
	uint64_t vsx[64][2];			/* 320: f0 to f31 are halves of the first 32 */
} __attribute__((aligned(16)));

/*
 * Loads all of *want (and notes there what gpr 1, 2 and 13 are), does nothing for 3000
 * instructions between registers_quiet and registers_quiet_end, stores all to *ret.
 */
void registers_pass(struct registers *want, struct registers *ret);
extern const char registers_quiet[], registers_quiet_end[];

/* Writes every register that a called function may change; those of vectors, too. */
void registers_trash(void);
void registers_trash_vectors(void);

/*
 * Reserves *word, does nothing for 1000 instructions, stores conditionally. Returns whether the
 * store was done.
 */
uint64_t registers_reserve(uint64_t *word);
extern const char registers_reserved[], registers_reserved_end[];

#endif
