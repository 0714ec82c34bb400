/* SPDX-License-Identifier: MIT */
/* Names by address, sorted: of a file, of a JIT, of the kernel. Not installed. */
#ifndef PM_STACKS_TABLE_H
#define PM_STACKS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_ENTRIES_MAX ((size_t)4 << 20)

struct entry {
	uint64_t address;
	uint64_t size;			/* 0: up to the next one */
	const char *name;		/* somebody else's, see the table's owner */
	uint32_t rank;			/* of two at one address the higher one is taken */
};

struct table {
	struct entry *list;
	size_t count, room;
	bool sorted;
};

/* -ENOSPC beyond TABLE_ENTRIES_MAX, -ENOMEM. */
int table_add(struct table *table, const struct entry *entry);

/*
 * Of names of one place, one that is not of an old version ("cfree@GLIBC_2.2.5") and has the fewest
 * underscores before it is what a program calls ("malloc", not "__libc_malloc"); then perf(1) takes
 * the longest. Below 1 << 24.
 */
uint32_t rank_of_name(const char *name);

/* By address, and by rank where it is the same. */
void table_sort(struct table *table);

/* The entry that holds the address, or NULL. Sorts first where that is necessary. */
const struct entry *table_find(struct table *table, uint64_t address);
void table_free(struct table *table);

#endif
