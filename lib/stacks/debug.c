/* SPDX-License-Identifier: MIT */
/* Files of debug symbols: the places where they may be, asked one after the other. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "symbols.h"

#define LINK_MAX_BYTES 4096

/* FOLDER/.build-id/xx/yyyy...END */
static int open_by_build_id(const char *folder, size_t length, const struct file *file,
			    const char *end)
{
	char path[4600];
	size_t used;

	if (file->build_id_size < 2 || length > 4096)
		return -ENOENT;
	used = (size_t)snprintf(path, sizeof(path), "%.*s/.build-id/%02x/", (int)length, folder,
				file->build_id[0]);
	for (size_t i = 1; i < file->build_id_size && used < sizeof(path) - 16; i++)
		used += (size_t)snprintf(path + used, sizeof(path) - used, "%02x",
					 file->build_id[i]);
	if (used >= sizeof(path) - 16)
		return -ENOENT;
	strcpy(path + used, end);
	return file_open_path(path);
}

/* .gnu_debuglink: a file name, padding to 4, and a checksum of that file. */
static bool debug_link(const struct file *file, char *name, size_t size, uint32_t *checksum)
{
	Elf_Scn *section = file_section(file, ".gnu_debuglink", LINK_MAX_BYTES);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	if (data == NULL || data->d_buf == NULL || data->d_size < 8 ||
	    memchr(data->d_buf, '\0', data->d_size - 4) == NULL ||
	    strlen(data->d_buf) >= size || strchr(data->d_buf, '/') != NULL)
		return false;
	strcpy(name, data->d_buf);
	memcpy(checksum, (const char *)data->d_buf + data->d_size - 4, 4);
	return true;
}

static bool has_checksum(int fd, uint32_t wanted)
{
	unsigned char *chunk = malloc(1 << 16);
	uLong sum = crc32(0, NULL, 0);
	uint64_t offset = 0;
	ssize_t got = 0;

	while (chunk != NULL && offset < FILE_SIZE_MAX &&
	       (got = pread(fd, chunk, 1 << 16, (off_t)offset)) > 0) {
		sum = crc32(sum, chunk, (uInt)got);
		offset += (uint64_t)got;
	}
	free(chunk);
	return chunk != NULL && got == 0 && sum == wanted;
}

static int try_link(const char *before, size_t before_length, const char *folder, size_t length,
		    const char *between, const char *name, uint32_t checksum)
{
	char path[4600];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%.*s%.*s%s%s", (int)before_length, before,
			     (int)length, folder, between, name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = file_open_path(path);
	if (fd >= 0 && !has_checksum(fd, checksum)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* Beside the file, in a folder beside it, or with its whole path in the folder of debug files. */
static int open_by_link(const char *root, size_t length, const struct cached *cached,
			const char *between)
{
	const char *slash = strrchr(cached->name, '/');
	char name[256];
	uint32_t checksum;

	if (slash == NULL || !debug_link(&cached->file, name, sizeof(name), &checksum))
		return -ENOENT;
	return try_link(root, length, cached->name, (size_t)(slash - cached->name) + 1, between,
			name, checksum);
}

/* libdebuginfod is loaded when somebody asks for it, and never otherwise. */
static int open_by_server(const struct file *file)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	void *(*begin)(void);
	int (*find)(void *, const unsigned char *, int, char **);
	void (*end)(void *);
	void *client;
	int fd = -ENOENT;

	if (library == NULL)
		return -ENOENT;
	*(void **)&begin = dlsym(library, "debuginfod_begin");
	*(void **)&find = dlsym(library, "debuginfod_find_debuginfo");
	*(void **)&end = dlsym(library, "debuginfod_end");
	client = begin && find && end ? begin() : NULL;
	if (client != NULL) {
		fd = find(client, file->build_id, (int)file->build_id_size, NULL);
		end(client);
	}
	return fd;	/* the library stays: it may have started threads */
}

/* The part number `*i` of a list with colons; where there are fewer, `*i` is that many less. */
static bool part_of(const char *list, unsigned int *i, const char **ret, size_t *length)
{
	for (; list != NULL; (*i)--) {
		*length = strcspn(list, ":");
		*ret = list;
		if (*i == 0)
			return true;
		list = list[*length] == ':' ? list + *length + 1 : NULL;
	}
	return false;
}

/* By build-id in each root; a link beside the file; perf's cache; a link in each root; a server. */
int debug_file_open(const struct pm_symbols *symbols, const struct cached *cached,
		    unsigned int place)
{
	const struct file *file = &cached->file;
	const char *root, *cache = symbols->perf_cache;
	size_t length, cache_length = strlen(cache);

	if (part_of(symbols->debug_root, &place, &root, &length))
		return open_by_build_id(root, length, file, ".debug");
	switch (place) {
	case 0:
		return open_by_link("", 0, cached, "");
	case 1:
		return open_by_link("", 0, cached, ".debug/");
	case 2:
	case 3:
		return cache_length == 0 ? -ENOENT :
			open_by_build_id(cache, cache_length, file, place == 2 ? "/debug" : "/elf");
	}
	place -= 4;
	if (part_of(symbols->debug_root, &place, &root, &length))
		return open_by_link(root, length, cached, "");
	if (place > 0)
		return -ERANGE;
	return symbols->debuginfod && file->build_id_size > 0 ? open_by_server(file) : -ENOENT;
}
