/* SPDX-License-Identifier: MIT */
/* What is mapped where in a process, from /proc/PID/maps and from side-band. Not installed. */
#ifndef PM_STACKS_MAPS_H
#define PM_STACKS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module;

#define MAP_LINES_MAX 1000000
#define MAP_TEXT_MAX ((size_t)256 << 20)
#define MAP_BUILD_ID_MAX 32

struct map {
	uint64_t start, end, offset;
	uint64_t inode;
	const char *name;		/* terminated, "" when anonymous; owned by the maps */
	struct module *module;		/* what was found there, NULL before it was looked for */
	bool exec, write, stack;
	bool failed;			/* no module here: not to be tried again */
	uint8_t build_id_size;
	uint8_t build_id[MAP_BUILD_ID_MAX];
};

/* Sorted by address, without overlaps. */
struct maps {
	struct map *list;
	size_t count, room;
	char *text;			/* of the file; names lead into it */
	char **added;			/* names that side-band brought */
	size_t added_count;
};

/*
 * Reads /proc/PID/maps from its descriptor. Lines that make no sense or no progress are left out.
 * Returns 0; -ESRCH when it is empty (the process has ended); -E2BIG; -ENOMEM; -errno of read(2).
 */
int maps_read(int fd, struct maps *ret);

/* The same from text in memory, which is copied. */
int maps_parse(const char *text, size_t size, struct maps *ret);
void maps_free(struct maps *maps);

/* The mapping that holds the address, or NULL. */
struct map *maps_find(const struct maps *maps, uint64_t address);

/* Puts one in, over what was there; `name` is copied. -EINVAL, -ENOSPC, -ENOMEM. */
int maps_add(struct maps *maps, const struct map *map);

#endif
