/* SPDX-License-Identifier: MIT */
/* A table from bytes to numbers. The bytes are kept and compared: equal hashes are not enough. */
#include "intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_SHARE 64		/* bytes of memory for which there is one place */

int intern_init(struct intern *intern, size_t memory)
{
	size_t places = 64;

	while (places * ENTRY_SHARE < memory)
		places *= 2;
	*intern = (struct intern){ .room = memory, .places = places };
	intern->store = malloc(memory);
	intern->entries = calloc(places, sizeof(*intern->entries));
	if (intern->store && intern->entries)
		return 0;
	intern_free(intern);
	return -ENOMEM;
}

void intern_free(struct intern *intern)
{
	free(intern->store);
	free(intern->entries);
	*intern = (struct intern){ .store = NULL };
}

void intern_clear(struct intern *intern)
{
	memset(intern->entries, 0, intern->places * sizeof(*intern->entries));
	memset(intern->last, 0, sizeof(intern->last));
	intern->used = intern->count = 0;
}

bool intern_is_full(const struct intern *intern)
{
	return intern->used > intern->room / 4 * 3 || intern->count > intern->places / 4 * 3;
}

/* FNV-1a: stacks come from programs that gain nothing by collisions but a slower trace. */
static uint64_t hash_of(const unsigned char *bytes, size_t size, uint64_t kind)
{
	uint64_t hash = 0xcbf29ce484222325 ^ kind;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

int intern_find(struct intern *intern, enum intern_kind kind, const void *bytes, size_t size,
		uint64_t *ret, bool *ret_new)
{
	uint64_t hash = hash_of(bytes, size, kind);
	struct intern_entry *entry;

	for (size_t i = hash;; i++) {
		entry = &intern->entries[i & (intern->places - 1)];
		if (entry->iid == 0)
			break;
		if (entry->hash != hash || entry->kind != kind || entry->size != size ||
		    memcmp(intern->store + entry->at, bytes, size) != 0)
			continue;
		*ret = entry->iid;
		*ret_new = false;
		return 0;
	}
	if (size > intern->room - intern->used || intern->count + 1 >= intern->places)
		return -ENOSPC;
	memcpy(intern->store + intern->used, bytes, size);
	*entry = (struct intern_entry){ hash, intern->used, (uint32_t)size, kind,
					++intern->last[kind] };
	intern->used += size;
	intern->count++;
	*ret = entry->iid;
	*ret_new = true;
	return 0;
}
