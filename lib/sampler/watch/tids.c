/* SPDX-License-Identifier: MIT */
/* A hash table of threads. A freed place is filled by moving entries back: there are no marks. */
#include "tids.h"

#include <stdlib.h>

#define TIDS_MAX ((size_t)1 << 22)	/* PID_MAX_LIMIT of 64-bit kernels */

static size_t home_of(const struct tids *tids, uint32_t tid)
{
	return (size_t)(tid * 0x9e3779b1u >> 7) & (tids->room - 1);
}

static size_t place_of(const struct tids *tids, uint32_t tid)
{
	size_t at = home_of(tids, tid);

	while (tids->table[at].tid != 0 && tids->table[at].tid != tid)
		at = (at + 1) & (tids->room - 1);
	return at;
}

static bool grow(struct tids *tids)
{
	struct tids more = { .room = tids->room ? 2 * tids->room : 256, .used = tids->used };

	if (tids->room >= 2 * TIDS_MAX)
		return false;
	more.table = calloc(more.room, sizeof(*more.table));
	if (more.table == NULL)
		return false;
	for (size_t i = 0; i < tids->room; i++)
		if (tids->table[i].tid != 0)
			more.table[place_of(&more, tids->table[i].tid)] = tids->table[i];
	free(tids->table);
	*tids = more;
	return true;
}

static bool is_same(const struct tid_entry *a, const struct tid_entry *b)
{
	return a->tid == b->tid && a->serial == b->serial && a->program == b->program;
}

bool pm_tids_add(struct tids *tids, const struct tid_entry *entry)
{
	struct tid_entry *place;

	if (entry->tid == 0 || (tids->used >= tids->room / 2 && !grow(tids)))
		return false;
	place = &tids->table[place_of(tids, entry->tid)];
	if (is_same(place, entry))
		return false;
	tids->used += place->tid == 0;
	*place = *entry;
	return true;
}

/* Entries behind a hole belong into it, unless their home lies between the hole and them. */
static void close_hole(struct tids *tids, size_t hole)
{
	const size_t mask = tids->room - 1;

	for (size_t at = (hole + 1) & mask; tids->table[at].tid != 0; at = (at + 1) & mask) {
		const size_t home = home_of(tids, tids->table[at].tid);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		tids->table[hole] = tids->table[at];
		hole = at;
	}
	tids->table[hole] = (struct tid_entry){ .tid = 0 };
}

bool pm_tids_remove(struct tids *tids, const struct tid_entry *entry)
{
	size_t at;
	bool same;

	if (tids->room == 0 || entry->tid == 0)
		return false;
	at = place_of(tids, entry->tid);
	if (tids->table[at].tid == 0)
		return false;
	same = is_same(&tids->table[at], entry);
	close_hole(tids, at);
	tids->used--;
	return same;
}

void pm_tids_free(struct tids *tids)
{
	free(tids->table);
	*tids = (struct tids){ .table = NULL };
}
