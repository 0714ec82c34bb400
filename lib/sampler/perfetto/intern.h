/* SPDX-License-Identifier: MIT */
/* What was written once and has a number since, in bounded memory; not installed. */
#ifndef PM_INTERN_H
#define PM_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum intern_kind { INTERN_FUNCTION, INTERN_PATH, INTERN_BUILD_ID, INTERN_SOURCE, INTERN_MAPPING,
		   INTERN_FRAME, INTERN_STACK, INTERN_KINDS };

struct intern_entry {
	uint64_t hash;
	size_t at;		/* of its bytes in the store */
	uint32_t size;
	uint32_t kind;
	uint64_t iid;		/* 0: a free place */
};

struct intern {
	unsigned char *store;
	size_t used, room;
	struct intern_entry *entries;
	size_t count, places;	/* places: a power of two */
	uint64_t last[INTERN_KINDS];
};

/* -ENOMEM. */
int intern_init(struct intern *intern, size_t memory);
void intern_free(struct intern *intern);

/* Forgets everything: numbers begin at 1 again. */
void intern_clear(struct intern *intern);

/* True when less than a quarter is left: a stack might not fit any more. */
bool intern_is_full(const struct intern *intern);

/*
 * The number of these bytes, from 1 on within their kind; *ret_new tells whether they are new.
 * -ENOSPC.
 */
int intern_find(struct intern *intern, enum intern_kind kind, const void *bytes, size_t size,
		uint64_t *ret, bool *ret_new);

#endif
