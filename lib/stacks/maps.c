/* SPDX-License-Identifier: MIT */
/*
 * The mappings of a process. The text comes from the kernel, but the names in it are the target's
 * choice, and so is how many lines there are: 65530 by default, any number with another sysctl.
 */
#include "maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------- one line */

static bool take_hex(const char **at, uint64_t *ret)
{
	const char *start = *at;
	uint64_t value = 0;

	for (;; ++*at) {
		const char c = **at;
		unsigned int digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned int)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned int)(c - 'a') + 10;
		else
			break;
		value = value << 4 | digit;
	}
	*ret = value;
	return *at != start && *at - start <= 16;
}

static bool take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

static bool take_inode(const char **at, uint64_t *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

/* The kernel writes a line end in a name as \012, and a backslash as it is (show_map_vma()). */
static void take_escapes(char *name)
{
	char *to = name;

	for (; *name != '\0'; to++) {
		const bool newline = strncmp(name, "\\012", 4) == 0;

		*to = newline ? '\n' : *name;
		name += newline ? 4 : 1;
	}
	*to = '\0';
}

/* "7f00-7f10 r-xp 00001000 fe:01 1234   /lib/x.so", terminated where the line ended. */
static bool parse_line(char *line, struct map *ret)
{
	const char *at = line;
	uint64_t device;

	*ret = (struct map){ .name = "" };
	if (!take_hex(&at, &ret->start) || !take_char(&at, '-') || !take_hex(&at, &ret->end) ||
	    !take_char(&at, ' ') || strlen(at) < 5)
		return false;
	ret->write = at[1] == 'w';
	ret->exec = at[2] == 'x';
	at += 4;
	if (!take_char(&at, ' ') || !take_hex(&at, &ret->offset) || !take_char(&at, ' ') ||
	    !take_hex(&at, &device) || !take_char(&at, ':') || !take_hex(&at, &device) ||
	    !take_char(&at, ' ') || !take_inode(&at, &ret->inode))
		return false;
	ret->name = at + strspn(at, " ");
	take_escapes(line + (ret->name - line));
	ret->stack = strcmp(ret->name, "[stack]") == 0;
	return ret->start < ret->end;
}

/* ------------------------------------------------------------------------------------- the list */

static int make_room(struct maps *maps)
{
	const size_t room = maps->room ? 2 * maps->room : 256;
	struct map *more;

	if (maps->count < maps->room)
		return 0;
	if (maps->count >= MAP_LINES_MAX)
		return -ENOSPC;
	more = realloc(maps->list, room * sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	maps->list = more;
	maps->room = room;
	return 0;
}

/* The first mapping that ends behind the address. */
static size_t first_behind(const struct maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (maps->list[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct map *maps_find(const struct maps *maps, uint64_t address)
{
	const size_t i = first_behind(maps, address);

	return i < maps->count && maps->list[i].start <= address ? &maps->list[i] : NULL;
}

/* The kernel writes them in order; a mapping moved while it wrote may come twice. */
static int append(struct maps *maps, const struct map *map)
{
	const int err = make_room(maps);

	if (err < 0)
		return err;
	if (maps->count == 0 || maps->list[maps->count - 1].end <= map->start)
		maps->list[maps->count++] = *map;
	return 0;
}

static int parse_text(struct maps *maps, size_t size)
{
	char *line = maps->text, *end = maps->text + size;
	int err = 0;

	while (line < end && err >= 0) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		struct map map;

		if (newline == NULL)
			newline = end;
		*newline = '\0';
		if (parse_line(line, &map))
			err = append(maps, &map);
		line = newline + 1;
	}
	return err == -ENOSPC ? 0 : err;
}

void maps_free(struct maps *maps)
{
	for (size_t i = 0; i < maps->added_count; i++)
		free(maps->added[i]);
	free(maps->added);
	free(maps->list);
	free(maps->text);
	*maps = (struct maps){ 0 };
}

/* Takes `text` over; it has room for a terminator. */
static int take_text(char *text, size_t size, struct maps *ret)
{
	struct maps maps = { .text = text };
	int err;

	text[size] = '\0';
	err = parse_text(&maps, size);
	if (err < 0) {
		maps_free(&maps);
		return err;
	}
	*ret = maps;
	return 0;
}

int maps_parse(const char *text, size_t size, struct maps *ret)
{
	char *copy;

	if (size > MAP_TEXT_MAX)
		return -E2BIG;
	copy = malloc(size + 1);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, text, size);
	return take_text(copy, size, ret);
}

static int grow(char **text, size_t *room)
{
	const size_t more = *room ? 2 * *room : 16384;
	char *bigger;

	if (more > MAP_TEXT_MAX)
		return -E2BIG;
	bigger = realloc(*text, more);
	if (bigger == NULL)
		return -ENOMEM;
	*text = bigger;
	*room = more;
	return 0;
}

int maps_read(int fd, struct maps *ret)
{
	size_t size = 0, room = 0;
	char *text = NULL;
	ssize_t got;
	int err;

	do {
		err = size + 4097 > room ? grow(&text, &room) : 0;
		if (err < 0)
			break;
		/* pread, so that a descriptor that somebody else reads, too, keeps its place */
		got = pread(fd, text + size, room - size - 1, (off_t)size);
		if (got < 0)
			err = errno == EINTR ? 0 : -errno;
		else
			size += (size_t)got;
	} while (err == 0 && got != 0);
	if (err == 0 && size == 0)
		err = -ESRCH;
	if (err < 0) {
		free(text);
		return err;
	}
	return take_text(text, size, ret);
}

/* ------------------------------------------------------------------------------------ side-band */

static int keep_name(struct maps *maps, const char *name, const char **ret)
{
	char **more, *copy;

	if (maps->added_count >= MAP_LINES_MAX)
		return -ENOSPC;
	if ((maps->added_count & (maps->added_count - 1)) == 0) {
		const size_t room = maps->added_count ? 2 * maps->added_count : 1;

		more = realloc(maps->added, room * sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		maps->added = more;
	}
	copy = strdup(name);
	if (copy == NULL)
		return -ENOMEM;
	maps->added[maps->added_count++] = copy;
	*ret = copy;
	return 0;
}

/* Opens a gap of one element at `i`. There is room for it. */
static void insert_at(struct maps *maps, size_t i, const struct map *map)
{
	memmove(&maps->list[i + 1], &maps->list[i], (maps->count - i) * sizeof(maps->list[0]));
	maps->list[i] = *map;
	maps->count++;
}

/* What was mapped in [start, end) goes; a mapping that sticks out on a side is cut. */
static int clear_range(struct maps *maps, uint64_t start, uint64_t end)
{
	size_t i = first_behind(maps, start), last;
	int err;

	if (i < maps->count && maps->list[i].start < start && maps->list[i].end > end) {
		err = make_room(maps);
		if (err < 0)
			return err;
		insert_at(maps, i, &maps->list[i]);
		maps->list[i].end = start;
		maps->list[i + 1].offset += end - maps->list[i + 1].start;
		maps->list[i + 1].start = end;
		return 0;
	}
	if (i < maps->count && maps->list[i].start < start)
		maps->list[i++].end = start;
	for (last = i; last < maps->count && maps->list[last].end <= end; last++)
		;
	if (last == i && i == maps->count)
		return 0;
	memmove(&maps->list[i], &maps->list[last], (maps->count - last) * sizeof(maps->list[0]));
	maps->count -= last - i;
	if (i < maps->count && maps->list[i].start < end) {
		maps->list[i].offset += end - maps->list[i].start;
		maps->list[i].start = end;
	}
	return 0;
}

int maps_add(struct maps *maps, const struct map *map)
{
	struct map copy = *map;
	const struct map *old = maps_find(maps, map->start);
	int err;

	if (map->start >= map->end || map->name == NULL)
		return -EINVAL;
	/* Told twice, by the file and by side-band: what was found there stays. */
	if (old != NULL && old->start == map->start && old->end == map->end &&
	    old->offset == map->offset && old->exec == map->exec && map->inode == old->inode &&
	    strcmp(old->name, map->name) == 0)
		return 0;
	err = clear_range(maps, map->start, map->end);
	if (err == 0)
		err = make_room(maps);
	if (err == 0)
		err = keep_name(maps, map->name, &copy.name);
	if (err < 0)
		return err;
	insert_at(maps, first_behind(maps, map->start), &copy);
	return 0;
}
