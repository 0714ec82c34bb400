/* SPDX-License-Identifier: MIT */
/* An open hash table. */
#include "bag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void bag_open(struct bag *bag)
{
	*bag = (struct bag){ 0 };
	if (getrandom(&bag->seed, sizeof(bag->seed), GRND_NONBLOCK) != sizeof(bag->seed))
		bag->seed = (uint64_t)(uintptr_t)bag;
	bag->seed |= 1;
}

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93u;
	return value ^ value >> 32;
}

static uint64_t hash_of(const struct bag *bag, const char *key, size_t size)
{
	uint64_t hash = mix(bag->seed + size), word;

	for (; size >= sizeof(word); key += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, key, sizeof(word));
		hash = mix((hash ^ word) * bag->seed);
	}
	word = 0;
	memcpy(&word, key, size);
	return mix((hash ^ word) * bag->seed);
}

static struct bag_slot *find(const struct bag *bag, uint64_t hash, const void *key, size_t size)
{
	for (size_t i = hash & (bag->room - 1);; i = (i + 1) & (bag->room - 1)) {
		struct bag_slot *slot = &bag->slots[i];

		if (slot->key == NULL || (slot->hash == hash && slot->size == size &&
					  memcmp(slot->key, key, size) == 0))
			return slot;
	}
}

static int grow(struct bag *bag)
{
	struct bag more = *bag;

	if (bag->room != 0 && bag->count * 4 < bag->room * 3)
		return 0;
	more.room = bag->room ? 2 * bag->room : 256;
	more.slots = calloc(more.room, sizeof(more.slots[0]));
	if (more.slots == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < bag->room; i++) {
		const struct bag_slot *slot = &bag->slots[i];

		if (slot->key != NULL)
			*find(&more, slot->hash, slot->key, slot->size) = *slot;
	}
	more.bytes += (more.room - bag->room) * sizeof(more.slots[0]);
	free(bag->slots);
	*bag = more;
	return 0;
}

uint64_t *bag_take(struct bag *bag, const void *key, size_t size)
{
	const uint64_t hash = hash_of(bag, key, size);
	struct bag_slot *slot;

	if (grow(bag) < 0)
		return NULL;
	slot = find(bag, hash, key, size);
	if (slot->key != NULL)
		return &slot->value;
	slot->key = malloc(size ? size : 1);
	if (slot->key == NULL)
		return NULL;
	memcpy(slot->key, key, size);
	slot->hash = hash;
	slot->size = size;
	slot->value = 0;
	bag->count++;
	bag->bytes += size + 16;
	return &slot->value;
}

void bag_clear(struct bag *bag)
{
	for (size_t i = 0; i < bag->room; i++)
		free(bag->slots[i].key);
	free(bag->slots);
	*bag = (struct bag){ .seed = bag->seed };
}
