/* SPDX-License-Identifier: MIT */
/* The cache of files. A file is known by device, inode, size and time of change, not by path. */
#include "cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols.h"

#define FILES_MAX 512			/* kept open without users */

uint64_t cache_bytes(const struct cached *cached)
{
	return sizeof(*cached) + cached->table.room * sizeof(struct entry) + cached->strings +
		cached->lines.bytes + cached->lines.known.bytes;
}

static void drop(struct pm_symbols *symbols, struct cached *gone)
{
	struct cached **at = &symbols->files;

	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	table_free(&gone->table);
	free(gone->plt_names);
	lines_close(&gone->lines);
	if (gone->debug.elf != NULL)
		file_close(&gone->debug);
	file_close(&gone->file);
	free(gone->name);
	free(gone);
}

static struct cached *oldest_unused(const struct pm_symbols *symbols, uint64_t *bytes,
				    unsigned int *count)
{
	struct cached *oldest = NULL;

	*bytes = 0;
	*count = 0;
	for (struct cached *one = symbols->files; one != NULL; one = one->next) {
		*bytes += cache_bytes(one);
		*count += one->users == 0;
		if (one->users == 0 && (oldest == NULL || one->used < oldest->used))
			oldest = one;
	}
	return oldest;
}

void cache_trim(struct pm_symbols *symbols)
{
	unsigned int unused;
	uint64_t bytes;

	for (;;) {
		struct cached *oldest = oldest_unused(symbols, &bytes, &unused);

		if (oldest == NULL || (bytes <= symbols->limit && unused <= FILES_MAX))
			return;
		drop(symbols, oldest);
	}
}

static struct cached *find(struct pm_symbols *symbols, const struct stat *status)
{
	const uint64_t changed = (uint64_t)status->st_mtim.tv_sec * 1000000000u +
		(uint64_t)status->st_mtim.tv_nsec;

	for (struct cached *one = symbols->files; one != NULL; one = one->next)
		if (one->inode == status->st_ino && one->device == status->st_dev &&
		    one->size == (uint64_t)status->st_size && one->changed == changed &&
		    one->file.fd >= 0)
			return one;
	return NULL;
}

static int keep(struct pm_symbols *symbols, struct file *file, const struct stat *status,
		const char *name, struct cached **ret)
{
	struct cached *made = calloc(1, sizeof(*made));
	char *copy = strdup(name);

	if (made == NULL || copy == NULL) {
		free(made);
		free(copy);
		file_close(file);
		return -ENOMEM;
	}
	made->file = *file;
	made->name = copy;
	made->debug.fd = -1;
	made->device = status->st_dev;
	made->inode = status->st_ino;
	made->size = (uint64_t)status->st_size;
	made->changed = (uint64_t)status->st_mtim.tv_sec * 1000000000u +
		(uint64_t)status->st_mtim.tv_nsec;
	made->next = symbols->files;
	symbols->files = *ret = made;
	return 0;
}

static int use(struct pm_symbols *symbols, struct cached *cached, struct cached **ret)
{
	cached->users++;
	cached->used = ++symbols->clock;
	*ret = cached;
	return 0;
}

int cache_get(struct pm_symbols *symbols, int fd, const char *name, struct cached **ret)
{
	struct cached *cached;
	struct stat status;
	struct file file;
	int err;

	if (fstat(fd, &status) != 0) {
		err = -errno;
		close(fd);
		return err;
	}
	cached = find(symbols, &status);
	if (cached != NULL) {
		close(fd);
		return use(symbols, cached, ret);
	}
	err = file_open(fd, &file);
	if (err == 0)
		err = keep(symbols, &file, &status, name, &cached);
	return err < 0 ? err : use(symbols, cached, ret);
}

/* All processes of one kind have the same vDSO. */
static struct cached *find_image(struct pm_symbols *symbols, const void *image, size_t size)
{
	for (struct cached *one = symbols->files; one != NULL; one = one->next)
		if (one->file.image != NULL && one->size == size &&
		    memcmp(one->file.image, image, size) == 0)
			return one;
	return NULL;
}

int cache_get_image(struct pm_symbols *symbols, void *image, size_t size, const char *name,
		    struct cached **ret)
{
	const struct stat status = { .st_size = (off_t)size };
	struct cached *cached = find_image(symbols, image, size);
	struct file file;
	int err;

	if (cached != NULL) {
		free(image);
		return use(symbols, cached, ret);
	}
	err = file_open_image(image, size, &file);
	if (err == 0)
		err = keep(symbols, &file, &status, name, &cached);
	return err < 0 ? err : use(symbols, cached, ret);
}

void cache_put(struct pm_symbols *symbols, struct cached *cached)
{
	cached->users--;
	cache_trim(symbols);
}
