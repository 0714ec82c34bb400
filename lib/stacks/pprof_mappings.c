/* SPDX-License-Identifier: MIT */
/*
 * Where files are mapped. A profile has one address space and may be of many processes, so a place
 * is that of the process by which it became known; addresses of others are counted from there.
 */
#include "pprof_mappings.h"

#include <stdlib.h>
#include <string.h>

#define PAGE ((uint64_t)65536)		/* the largest one of the machines that are unwound */
#define USER_MOST ((uint64_t)1 << 62)	/* no process has anything there */

void mappings_open(struct pprof_mappings *mappings)
{
	*mappings = (struct pprof_mappings){ .list = NULL };
	bag_open(&mappings->keys);
}

void mappings_clear(struct pprof_mappings *mappings)
{
	bag_clear(&mappings->keys);
	free(mappings->list);
	mappings->list = NULL;
	mappings->count = mappings->room = mappings->written = 0;
}

static bool is_free(const struct pprof_mappings *mappings, uint64_t start, uint64_t limit)
{
	for (size_t i = 0; i < mappings->count; i++)
		if (start < mappings->list[i].limit && mappings->list[i].start < limit)
			return false;
	return true;
}

/* Behind all that is mapped in user space, on a page of its own. */
static uint64_t behind_all(const struct pprof_mappings *mappings)
{
	uint64_t end = PAGE;

	for (size_t i = 0; i < mappings->count; i++)
		if (mappings->list[i].limit < USER_MOST && mappings->list[i].limit > end)
			end = mappings->list[i].limit;
	return (end + PAGE - 1) / PAGE * PAGE;
}

/* Readers compare place and offset with the file's segments: within a page each place fits. */
static uint64_t choose(const struct pprof_mappings *mappings, const struct pprof_place *place)
{
	const uint64_t size = place->end - place->start;

	if (place->program && is_free(mappings, place->linked, place->linked + size))
		return place->linked;
	if (is_free(mappings, place->start, place->end))
		return place->start;
	/* Of two parts of the kernel that lie in one another the first has its place. */
	return place->kernel ? 0 : behind_all(mappings) + place->start % PAGE;
}

static void put(const struct pprof_mappings *mappings, const struct pprof_place *place,
		struct pprof_mapping *ret)
{
	const bool placed = place->end > place->start;

	ret->offset = place->offset;
	if (placed)
		ret->start = choose(mappings, place);
	if (placed && (ret->start != 0 || !place->kernel))
		ret->limit = ret->start + (place->end - place->start);
}

static uint64_t *find(struct pprof_mappings *mappings, const struct pprof_place *place)
{
	const uint64_t where[2] = { place->offset, place->end - place->start };
	const size_t file = strlen(place->file) + 1, id = strlen(place->build_id) + 1;
	char *key = malloc(sizeof(where) + file + id);
	uint64_t *ret;

	if (key == NULL)
		return NULL;
	memcpy(key, where, sizeof(where));
	memcpy(key + sizeof(where), place->file, file);
	memcpy(key + sizeof(where) + file, place->build_id, id);
	ret = bag_take(&mappings->keys, key, sizeof(where) + file + id);
	free(key);
	return ret;
}

static bool make_room(struct pprof_mappings *mappings)
{
	const size_t room = mappings->room ? 2 * mappings->room : 64;
	struct pprof_mapping *more;

	if (mappings->count < mappings->room)
		return true;
	more = realloc(mappings->list, room * sizeof(*more));
	if (more == NULL)
		return false;
	mappings->list = more;
	mappings->room = room;
	return true;
}

struct pprof_mapping *mappings_take(struct pprof_mappings *mappings,
				    const struct pprof_place *place, bool *ret_new)
{
	uint64_t *number = find(mappings, place);
	struct pprof_mapping *mapping;

	*ret_new = false;
	if (number == NULL)
		return NULL;
	if (*number != 0)
		return &mappings->list[*number - 1];
	if (!make_room(mappings))
		return NULL;
	mapping = &mappings->list[mappings->count];
	*mapping = (struct pprof_mapping){ .id = ++mappings->ids };
	put(mappings, place, mapping);
	*number = ++mappings->count;
	*ret_new = true;
	return mapping;
}

/* The keys lead to places in the list: the two that change places are told apart there. */
static void swap(struct pprof_mappings *mappings, size_t one, size_t other)
{
	const struct pprof_mapping kept = mappings->list[one];

	mappings->list[one] = mappings->list[other];
	mappings->list[other] = kept;
	for (size_t i = 0; i < mappings->keys.room; i++) {
		uint64_t *number = &mappings->keys.slots[i].value;

		if (mappings->keys.slots[i].key == NULL)
			continue;
		if (*number == one + 1)
			*number = other + 1;
		else if (*number == other + 1)
			*number = one + 1;
	}
}

void mappings_settle(struct pprof_mappings *mappings)
{
	size_t most = 0;

	if (mappings->written != 0)
		return;
	for (size_t i = 1; i < mappings->count; i++)
		if (mappings->list[i].weight > mappings->list[most].weight)
			most = i;
	if (most != 0)
		swap(mappings, 0, most);
}
