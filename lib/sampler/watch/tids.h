/* SPDX-License-Identifier: MIT */
/* Which process a thread is of, by its number; not installed. */
#ifndef PM_SAMPLER_TIDS_H
#define PM_SAMPLER_TIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tid_entry {
	uint32_t tid;			/* 0: free */
	uint64_t serial;		/* of its process */
	uint32_t program;		/* how many execs that had when the thread was seen */
};

struct tids {
	struct tid_entry *table;	/* open addressing, at most half full */
	size_t room, used;
};

/* Adds or renews. Returns true when it was not there for that process and program; false also
 * without memory, or beyond 2^22 threads. */
bool pm_tids_add(struct tids *tids, const struct tid_entry *entry);

/* Removes it. Returns true when it was there for that process and program. */
bool pm_tids_remove(struct tids *tids, const struct tid_entry *entry);

void pm_tids_free(struct tids *tids);

#endif
