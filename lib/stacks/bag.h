/* SPDX-License-Identifier: MIT */
/* Keys of any bytes, each with a number, in bounded memory. Not installed. */
#ifndef PM_STACKS_BAG_H
#define PM_STACKS_BAG_H

#include <stddef.h>
#include <stdint.h>

struct bag_slot {
	uint64_t hash;
	char *key;			/* NULL: free */
	size_t size;
	uint64_t value;
};

struct bag {
	struct bag_slot *slots;
	size_t room, count;
	uint64_t bytes;			/* of all of it */
	uint64_t seed;			/* so that nobody can choose names that collide */
};

void bag_open(struct bag *bag);

/* The number of the key, 0 when it is new; the key is copied. NULL: no memory. */
uint64_t *bag_take(struct bag *bag, const void *key, size_t size);
void bag_clear(struct bag *bag);

#endif
