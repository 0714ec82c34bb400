/* SPDX-License-Identifier: MIT */
/*
 * From a mapping to its file. Files are opened when a frame is in them, never all of them: a
 * process may have any number of mappings.
 */
#define _GNU_SOURCE
#include "unwinder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define VDSO_MAX 65536
#define OVERLAYFS_MAGIC 0x794c7630

/* ---------------------------------------------------------------------------- which file it is */

/*
 * A path may name another file by now. On an overlay the number in maps is that of the file below,
 * so it is no evidence there.
 */
static bool is_mapped_file(int fd, const struct map *map)
{
	struct statfs system;
	struct stat status;

	if (fstat(fd, &status) != 0)
		return false;
	if (map->inode == 0 || status.st_ino == map->inode)
		return true;
	return fstatfs(fd, &system) == 0 && (uint64_t)system.f_type == OVERLAYFS_MAGIC;
}

static int try_path(const char *path, const struct map *map)
{
	int fd = file_open_path(path);

	if (fd >= 0 && !is_mapped_file(fd, map)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/*
 * The mapping's own link leads to the file even when it was deleted or replaced, but few may follow
 * it. The process may see other files by the same name, so its root comes before ours.
 */
static int open_mapped(const struct pm_unwinder *unwinder, const struct map *map)
{
	const int pid = (int)unwinder->pid;
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	fd = try_path(path, map);
	if (fd >= 0 || map->name[0] != '/')
		return fd;
	if ((size_t)snprintf(path, sizeof(path), "/proc/%d/root%s", pid, map->name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = try_path(path, map);
	return fd >= 0 ? fd : try_path(map->name, map);
}

static int get_vdso(struct pm_unwinder *unwinder, const struct map *map, struct cached **ret)
{
	const uint64_t size = map->end - map->start;
	ssize_t got;
	void *image;

	if (size > VDSO_MAX || unwinder->mem_fd < 0)
		return -ENOENT;
	image = malloc(size);
	if (image == NULL)
		return -ENOMEM;
	got = pread(unwinder->mem_fd, image, size, (off_t)map->start);
	if (got != (ssize_t)size) {
		free(image);
		return -ENOENT;
	}
	return cache_get_image(unwinder->symbols, image, size, map->name, ret);
}

static bool build_id_differs(const struct map *map, const struct file *file)
{
	return map->build_id_size != 0 && file->build_id_size != 0 &&
		(map->build_id_size < file->build_id_size ||
		 memcmp(map->build_id, file->build_id, file->build_id_size) != 0);
}

static int get_file(struct pm_unwinder *unwinder, const struct map *map, struct cached **ret)
{
	int fd, err;

	if (strcmp(map->name, "[vdso]") == 0)
		return get_vdso(unwinder, map, ret);
	if (map->name[0] != '/' || strncmp(map->name, "//", 2) == 0)
		return -ENOENT;
	fd = open_mapped(unwinder, map);
	err = fd < 0 ? fd : cache_get(unwinder->symbols, fd, map->name, ret);
	if (err == 0 && build_id_differs(map, &(*ret)->file)) {
		cache_put(unwinder->symbols, *ret);
		err = -ESTALE;
	}
	return err;
}

/* -------------------------------------------------------------------------------------- modules */

static struct module *make_module(struct pm_unwinder *unwinder, const struct map *map)
{
	struct cached *cached;
	struct module *module;

	if (get_file(unwinder, map, &cached) < 0)
		return NULL;
	module = calloc(1, sizeof(*module));
	if (module == NULL || file_place(&cached->file, map->start, map->offset, &module->bias,
					 &module->low, &module->high) < 0) {
		free(module);
		cache_put(unwinder->symbols, cached);
		return NULL;
	}
	module->cached = cached;
	module->start = map->start;
	module->inode = map->inode;
	module->next = unwinder->modules;
	unwinder->modules = module;
	return module;
}

static struct module *known_module(const struct pm_unwinder *unwinder, const struct map *map)
{
	for (struct module *m = unwinder->modules; m != NULL; m = m->next)
		if (m->low <= map->start && map->start < m->high && m->inode == map->inode)
			return m;
	return NULL;
}

struct module *unwinder_module(struct pm_unwinder *unwinder, uint64_t address)
{
	struct map *map = maps_find(&unwinder->maps, address);

	if (map == NULL || map->failed)
		return NULL;
	if (map->module == NULL)
		map->module = known_module(unwinder, map);
	if (map->module == NULL)
		map->module = map->exec ? make_module(unwinder, map) : NULL;
	map->failed = map->module == NULL;
	return map->module;
}

static bool is_library(const char *name)
{
	const char *end = strstr(name, ".so");

	return end != NULL && (end[3] == '\0' || end[3] == '.' || end[3] == ' ');
}

uint64_t unwinder_program(struct pm_unwinder *unwinder)
{
	char path[32], name[4096] = "";

	if (unwinder->sought)
		return unwinder->program;
	unwinder->sought = true;
	unwinder->program = 0;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)unwinder->pid);
	if (readlink(path, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	for (size_t i = 0; i < unwinder->maps.count; i++) {
		const struct map *map = &unwinder->maps.list[i];

		if (!map->exec || map->name[0] != '/' || map->name[1] == '/')
			continue;
		if (strcmp(map->name, name) == 0)
			return unwinder->program = map->start;
		if (unwinder->program == 0 && !is_library(map->name))
			unwinder->program = map->start;
	}
	return unwinder->program;
}

void unwinder_drop_modules(struct pm_unwinder *unwinder)
{
	struct module *next;

	if (unwinder->dwfl != NULL)
		dwfl_end(unwinder->dwfl);
	unwinder->dwfl = NULL;
	for (struct module *m = unwinder->modules; m != NULL; m = next) {
		next = m->next;
		cache_put(unwinder->symbols, m->cached);
		free(m);
	}
	unwinder->modules = NULL;
	for (size_t i = 0; i < unwinder->maps.count; i++)
		unwinder->maps.list[i].module = NULL;
}

/* libdwfl cannot forget one module, so all go when one went. */
void unwinder_keep_modules(struct pm_unwinder *unwinder)
{
	memset(unwinder->seen, 0, sizeof(unwinder->seen));
	for (const struct module *m = unwinder->modules; m != NULL; m = m->next) {
		struct map *map = maps_find(&unwinder->maps, m->start);

		if (map == NULL || map->start != m->start || map->inode != m->inode ||
		    !map->exec) {
			unwinder_drop_modules(unwinder);
			return;
		}
	}
}

/* Of one that is not, frames are left as in code without unwind information. */
static bool is_bounded(struct cached *cached)
{
	if (!cached->weighed)
		cached->bounded = cfi_is_bounded(&cached->file);
	cached->weighed = true;
	return cached->bounded;
}

bool unwinder_tell_dwfl(struct pm_unwinder *unwinder, uint64_t address)
{
	struct module *module = unwinder_module(unwinder, address);
	Dwfl_Module *told;
	void **userdata;

	if (module == NULL || unwinder->dwfl == NULL)
		return false;
	if (module->told)
		return true;
	if (!is_bounded(module->cached))
		return false;
	dwfl_report_begin_add(unwinder->dwfl);
	told = dwfl_report_module(unwinder->dwfl, module->cached->name, module->low, module->high);
	if (told != NULL && dwfl_module_info(told, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		*userdata = module;
	dwfl_report_end(unwinder->dwfl, NULL, NULL);
	module->told = told != NULL;
	return module->told;
}
