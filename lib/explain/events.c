/* SPDX-License-Identifier: MIT */
/* Descriptors of processes and the shapes they are of; threads and their processes. */
#include "shape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST (1u << 20)		/* descriptors at a time; more are not looked at */
#define POSSIBLE (1 << 20)

struct entry {
	pid_t process;		/* 0: free; -1: was taken, what lies behind is to be found */
	int fd;
	struct shape *shape;
	bool pretended;
};

static struct entry *entries;
static size_t room, used;
static unsigned char possible[POSSIBLE / 8];

static size_t place_in(pid_t process, int fd)
{
	return ((uint32_t)process * 2654435761u ^ (uint32_t)fd * 2246822519u) & (room - 1);
}

static struct entry *find(pid_t process, int fd)
{
	if (room == 0)
		return NULL;
	for (size_t i = place_in(process, fd), steps = 0; steps < room;
	     i = (i + 1) & (room - 1), steps++) {
		if (entries[i].process == 0)
			return NULL;
		if (entries[i].process == process && entries[i].fd == fd)
			return &entries[i];
	}
	return NULL;
}

static void put(const struct entry *entry)
{
	size_t i = place_in(entry->process, entry->fd);

	while (entries[i].process > 0)
		i = (i + 1) & (room - 1);
	used += entries[i].process == 0;
	entries[i] = *entry;
}

/* Twice as large, or as large and without what was removed. */
static bool grow(void)
{
	struct entry *old = entries;
	const size_t before = room;
	size_t live = 0, after = 256;

	for (size_t i = 0; i < before; i++)
		live += old[i].process > 0;
	if (live * 2 > MOST)
		return false;
	if (before > 0)
		after = live * 4 > before ? before * 2 : before;
	entries = calloc(after, sizeof(*entries));
	if (entries == NULL) {
		entries = old;
		return false;
	}
	room = after;
	used = 0;
	for (size_t i = 0; i < before; i++)
		if (old[i].process > 0)
			put(&old[i]);
	free(old);
	return true;
}

struct shape *event_find(pid_t process, int fd)
{
	const struct entry *entry = find(process, fd);

	return entry != NULL ? entry->shape : NULL;
}

bool event_is_pretended(pid_t process, int fd)
{
	const struct entry *entry = find(process, fd);

	return entry != NULL && entry->pretended;
}

void event_add(pid_t process, int fd, struct shape *shape, bool pretended)
{
	const struct entry made = { process, fd, shape, pretended };
	struct entry *entry = find(process, fd);

	if (fd < 0 || process <= 0)
		return;
	if (fd < POSSIBLE)
		possible[fd / 8] |= (unsigned char)(1 << fd % 8);
	if (entry != NULL)
		*entry = made;
	else if (used * 2 < room || grow())
		put(&made);
}

void event_remove(pid_t process, int fd)
{
	struct entry *entry = find(process, fd);

	if (entry != NULL)
		entry->process = -1;
}

bool event_possible(int fd)
{
	return fd >= POSSIBLE || (fd >= 0 && (possible[fd / 8] >> fd % 8 & 1));
}

void event_each(pid_t process, unsigned int first, unsigned int last,
		void (*each)(pid_t process, int fd, struct shape *shape))
{
	for (size_t i = 0; i < room; i++)
		if (entries[i].process == process && (unsigned int)entries[i].fd >= first &&
		    (unsigned int)entries[i].fd <= last) {
			if (!entries[i].pretended)
				each(process, entries[i].fd, entries[i].shape);
			entries[i].process = -1;
		}
}

void events_look(void (*look)(pid_t process, int fd, struct shape *shape))
{
	for (size_t i = 0; i < room; i++)
		if (entries[i].process > 0 && !entries[i].pretended)
			look(entries[i].process, entries[i].fd, entries[i].shape);
}

/* --------------------------------------------------------------------------- threads, processes */

static struct { pid_t tid, process; } known[4096];

static bool is_thread(pid_t process, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", process, tid);
	return access(path, F_OK) == 0;
}

static int read_status(pid_t tid, char *buf, size_t size)
{
	char path[64];
	const int err = (snprintf(path, sizeof(path), "/proc/%d/status", tid),
			 pm_read_text(path, buf, size));

	return err == -EFBIG ? 0 : err;
}

/* The text behind "KEY:" at the beginning of a line. */
static const char *value_of(const char *status, const char *key)
{
	const size_t length = strlen(key);

	for (const char *line = status; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			return line + length + 1;
	}
	return NULL;
}

static unsigned long long number_of(const char *status, const char *key, int base,
				    unsigned long long otherwise)
{
	const char *value = value_of(status, key);

	return value != NULL ? strtoull(value, NULL, base) : otherwise;
}

pid_t process_of(pid_t tid, bool sure)
{
	const size_t at = (size_t)tid % (sizeof(known) / sizeof(known[0]));
	char status[4096];

	if (known[at].tid == tid && (!sure || is_thread(known[at].process, tid)))
		return known[at].process;
	if (read_status(tid, status, sizeof(status)) < 0)
		return 0;
	known[at].tid = tid;
	known[at].process = (pid_t)number_of(status, "Tgid", 10, 0);
	return known[at].process;
}

static void ids_of(const char *status, const char *key, unsigned int *ret)
{
	const char *value = value_of(status, key);

	if (value != NULL)
		(void)sscanf(value, "%u %u %u %u", &ret[0], &ret[1], &ret[2], &ret[3]);
}

static bool is_same_namespace(pid_t tid)
{
	char path[64], theirs[64] = "", ours[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/user", tid);
	return readlink(path, theirs, sizeof(theirs) - 1) < 0 ||
		readlink("/proc/self/ns/user", ours, sizeof(ours) - 1) < 0 ||
		strcmp(theirs, ours) == 0;
}

void place_of(pid_t tid, struct place *ret)
{
	char status[4096];

	if (read_status(tid, status, sizeof(status)) < 0)
		return;
	ret->known = true;
	ids_of(status, "Uid", ret->uid);
	ids_of(status, "Gid", ret->gid);
	ret->caps_effective = number_of(status, "CapEff", 16, 0);
	ret->caps_permitted = number_of(status, "CapPrm", 16, 0);
	ret->no_new_privs = number_of(status, "NoNewPrivs", 10, 0) != 0;
	ret->filters = (int)number_of(status, "Seccomp_filters", 10, (unsigned long long)-1);
	ret->same_namespace = is_same_namespace(tid);
}
