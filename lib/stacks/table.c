/* SPDX-License-Identifier: MIT */
/* A sorted array. Entries may overlap as their maker pleases; the search looks back only so far. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_BACK 64

int table_add(struct table *table, const struct entry *entry)
{
	if (table->count == table->room) {
		const size_t room = table->room ? 2 * table->room : 256;
		struct entry *more;

		if (table->count >= TABLE_ENTRIES_MAX)
			return -ENOSPC;
		more = realloc(table->list, room * sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		table->list = more;
		table->room = room;
	}
	table->list[table->count++] = *entry;
	table->sorted = false;
	return 0;
}

uint32_t rank_of_name(const char *name)
{
	const uint32_t underscores = (uint32_t)strspn(name, "_");
	const char *version = strchr(name, '@');
	const size_t length = version != NULL ? (size_t)(version - name) : strlen(name);

	return (version == NULL || version[1] == '@' ? 1u << 23 : 0) +
		((underscores < 15 ? 15 - underscores : 0) << 16) +
		(uint32_t)(length < 0xffff ? length : 0xffff);
}

static int by_address(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(b->name, a->name);
}

void table_sort(struct table *table)
{
	if (!table->sorted && table->count > 0)
		qsort(table->list, table->count, sizeof(table->list[0]), by_address);
	table->sorted = true;
}

/* NEAREST is the last entry that is not behind the address. */
static bool holds(const struct entry *entry, const struct entry *nearest, uint64_t address)
{
	if (entry->size == 0)
		return entry->address == nearest->address;
	return address - entry->address < entry->size;
}

const struct entry *table_find(struct table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	table_sort(table);
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (table->list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < LOOK_BACK && i < low; i++)
		if (holds(&table->list[low - 1 - i], &table->list[low - 1], address))
			return &table->list[low - 1 - i];
	return NULL;
}

void table_free(struct table *table)
{
	free(table->list);
	*table = (struct table){ 0 };
}
