/* SPDX-License-Identifier: MIT */
/*
 * Threads that cause an exactly known number of page faults each: some work on from before the
 * observation begins until after it ends, some begin later, many live for one round, and some of
 * those have a child that does one more.
 */
#ifndef CROWD_H
#define CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUND_FAULTS 16		/* pages, and so page faults */

/* What is known of both sides after the crowd has gone home. */
struct tally {
	uint64_t rounds, caused;	/* page faults */
	uint64_t told;			/* of them, once */
	uint64_t more;			/* told again */
	uint64_t old_missing;		/* of caused - told, what the oldest threads caused */
};

/* Starts the old threads; they wait to be let go. -errno. */
int crowd_begin(void);

/* Lets the old threads work, and starts the others. */
void crowd_go(void);

/* A page fault at that address was told; others are not ours. By one thread at a time. */
void crowd_tell(uint64_t address);

/* Page faults of rounds that have ended; there may be so many more of others. */
uint64_t crowd_caused(uint64_t *ret_under_way);

/* From now on nobody begins a round; true when all have ended theirs. To be called until it is. */
bool crowd_is_over(void);

/* Joins all and adds up. */
void crowd_end(struct tally *ret);

#endif
