/* SPDX-License-Identifier: MIT */
/* From addresses to names. */
#define _GNU_SOURCE
#include "symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwinder.h"

#define MEMORY_DEFAULT ((uint64_t)256 << 20)
#define JIT_PAUSE 100000000ull		/* ns between two looks for news of the JIT */

/* perf(1) keeps copies of files below the home folder. Empty: nobody's, or not to be used. */
static char *cache_of(const char *asked)
{
	const char *home = secure_getenv("HOME");
	char *cache;

	if (asked != NULL)
		return strdup(asked);
	if (home == NULL || home[0] != '/')
		return strdup("");
	return asprintf(&cache, "%s/.debug", home) < 0 ? NULL : cache;
}

struct pm_symbols *pm_symbols_create(const struct pm_symbols_opts *opts)
{
	struct pm_symbols_opts all = { .size = sizeof(all) };
	struct pm_symbols *symbols = calloc(1, sizeof(*symbols));

	if (symbols == NULL)
		return NULL;
	if (opts != NULL)
		memcpy(&all, opts, opts->size < sizeof(all) ? opts->size : sizeof(all));
	symbols->limit = all.memory ? all.memory : MEMORY_DEFAULT;
	symbols->mangled = all.mangled;
	symbols->debuginfod = all.debuginfod;
	symbols->without_lines = all.without_lines;
	symbols->debug_root = strdup(all.debug_root ? all.debug_root : "/usr/lib/debug");
	symbols->perf_cache = cache_of(all.perf_cache);
	symbols->kallsyms = strdup(all.kallsyms ? all.kallsyms : "/proc/kallsyms");
	if (symbols->debug_root == NULL || symbols->perf_cache == NULL ||
	    symbols->kallsyms == NULL) {
		pm_symbols_destroy(symbols);
		return NULL;
	}
	return symbols;
}

void pm_symbols_destroy(struct pm_symbols *symbols)
{
	if (symbols == NULL)
		return;
	symbols->limit = 0;
	cache_trim(symbols);
	kernel_free(&symbols->kernel);
	free(symbols->name);
	free(symbols->debug_root);
	free(symbols->perf_cache);
	free(symbols->kallsyms);
	free(symbols);
}

/* ------------------------------------------------------------------------------------ one name */

static const char *cut(struct pm_symbols *symbols, const char *name)
{
	if (strnlen(name, NAME_MAX_BYTES + 1) <= NAME_MAX_BYTES)
		return name;
	memcpy(symbols->cut, name, NAME_MAX_BYTES);
	symbols->cut[NAME_MAX_BYTES] = '\0';
	return symbols->cut;
}

/* As `plain` writes it, malloc'ed; NULL: as it is. */
static void set_name(struct pm_symbols *symbols, const char *name, char *(*plain)(const char *name),
		     struct pm_symbol *ret)
{
	free(symbols->name);
	symbols->name = symbols->mangled ? NULL : plain(name);
	ret->raw_name = cut(symbols, name);
	ret->name = symbols->name != NULL ? symbols->name : ret->raw_name;
	if (strlen(ret->name) > NAME_MAX_BYTES)
		symbols->name[NAME_MAX_BYTES] = '\0';
}

/* ---------------------------------------------------------------------------------- the kernel */

static void find_kernel(struct pm_symbols *symbols, uint64_t address, struct pm_symbol *ret)
{
	const struct entry *entry = kernel_find(symbols, address);
	const char *tab;

	ret->module = "[kernel]";
	if (entry == NULL) {
		ret->source = symbols->kernel.hidden ? PM_SYMBOL_HIDDEN : PM_SYMBOL_NONE;
		return;
	}
	ret->source = PM_SYMBOL_KERNEL;
	ret->start = entry->address;
	tab = strchr(entry->name, '\t');
	if (tab == NULL) {
		set_name(symbols, entry->name, demangle, ret);
		return;
	}
	snprintf(symbols->module, sizeof(symbols->module), "%s", tab + 1);
	snprintf(symbols->cut, sizeof(symbols->cut), "%.*s", (int)(tab - entry->name), entry->name);
	ret->module = symbols->module;
	ret->name = ret->raw_name = symbols->cut;
}

/* ------------------------------------------------------------------------------------- the JIT */

/* Somebody else may have put a file of that name there, whose names would be lies. */
static bool is_targets_own(const struct pm_unwinder *unwinder, int fd)
{
	struct stat file, process;

	return fstat(fd, &file) == 0 && fstat(unwinder->maps_fd, &process) == 0 &&
		(file.st_uid == 0 || file.st_uid == process.st_uid || file.st_uid == geteuid());
}

/* The process's number as it sees itself, in its innermost pid namespace. */
static int inner_pid(pid_t pid)
{
	char path[64], line[256];
	int inner = pid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "NSpid:", 6) == 0 && strrchr(line, '\t') != NULL)
			inner = atoi(strrchr(line, '\t') + 1);
	if (file != NULL)
		fclose(file);
	return inner;
}

static int open_perf_map(const struct pm_unwinder *unwinder)
{
	const int inner = inner_pid(unwinder->pid);
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", (int)unwinder->pid, inner);
	fd = file_open_path(path);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", inner);
		fd = file_open_path(path);
	}
	return fd;
}

static bool is_dump(const struct map *map)
{
	const char *name = strrchr(map->name, '/');
	int pid, end = 0;

	return name != NULL && sscanf(name, "/jit-%d.dump%n", &pid, &end) == 1 && end > 0;
}

/* A JIT that writes a jitdump maps a page of it, executable, so that it can be found. */
static int open_dump(struct pm_unwinder *unwinder)
{
	char path[4200];

	for (size_t i = 0; i < unwinder->maps.count; i++) {
		const struct map *map = &unwinder->maps.list[i];
		size_t length;

		if (!is_dump(map))
			continue;
		length = (size_t)snprintf(path, sizeof(path), "/proc/%d/root%s",
					  (int)unwinder->pid, map->name);
		return length < sizeof(path) ? file_open_path(path) : -ENAMETOOLONG;
	}
	return -ENOENT;
}

static void look_for_jit(struct pm_unwinder *unwinder)
{
	const uint64_t now = unwinder_now();
	bool dump = true;
	int fd;

	if (unwinder->jit.looked_at != 0 && now - unwinder->jit.looked_at < JIT_PAUSE)
		return;
	unwinder->jit.looked_at = now;
	if (!unwinder->jit.open) {
		fd = open_dump(unwinder);
		if (fd < 0) {
			fd = open_perf_map(unwinder);
			dump = false;
		}
		if (fd >= 0 && !is_targets_own(unwinder, fd)) {
			close(fd);
			fd = -EACCES;
		}
		if (fd < 0)
			return;
		jit_open(&unwinder->jit, fd, dump);
	}
	(void)jit_read(&unwinder->jit);
}

static void find_jit(struct pm_symbols *symbols, struct pm_unwinder *unwinder, uint64_t address,
		     struct pm_symbol *ret)
{
	const struct map *map = maps_find(&unwinder->maps, address);
	const struct entry *entry = table_find(&unwinder->jit.table, address);

	if (map != NULL && map->name[0] != '\0')
		ret->module = map->name;
	if (entry == NULL) {
		look_for_jit(unwinder);
		entry = table_find(&unwinder->jit.table, address);
	}
	if (entry == NULL)
		return;
	ret->source = PM_SYMBOL_JIT;
	ret->module = "[jit]";
	ret->start = entry->address;
	set_name(symbols, entry->name, demangle, ret);
}

/* -------------------------------------------------------------------------------------- a file */

static void find_file(struct pm_symbols *symbols, const struct module *module, uint64_t address,
		      struct pm_symbol *ret)
{
	struct cached *cached = module->cached;
	const struct entry *entry;

	cached->used = ++symbols->clock;
	if (!cached->looked) {
		symbols_load(symbols, cached);
		cache_trim(symbols);
	}
	ret->module = cached->name;
	ret->file_address = address - module->bias;
	ret->build_id = cached->file.build_id;
	ret->build_id_size = cached->file.build_id_size;
	entry = table_find(&cached->table, address - module->bias);
	if (entry == NULL)
		return;
	ret->source = PM_SYMBOL_FILE;
	ret->start = entry->address + module->bias;
	set_name(symbols, entry->name, demangle_symbol, ret);
}

static void find_user(struct pm_symbols *symbols, struct pm_unwinder *unwinder, uint64_t address,
		      struct pm_symbol *ret)
{
	const struct module *module;
	const struct map *map;

	if (maps_find(&unwinder->maps, address) == NULL)
		(void)unwinder_reread(unwinder);
	module = unwinder_module(unwinder, address);
	map = maps_find(&unwinder->maps, address);
	if (map != NULL) {
		ret->map_start = map->start;
		ret->map_end = map->end;
		ret->map_offset = map->offset;
	}
	if (module != NULL)
		find_file(symbols, module, address, ret);
	else
		find_jit(symbols, unwinder, address, ret);
}

int pm_symbols_find(struct pm_symbols *symbols, struct pm_unwinder *unwinder, uint64_t address,
		    unsigned int frame, struct pm_symbol *ret)
{
	struct pm_symbol all = { .module = "[unknown]" };

	if (ret->size == 0 || (unwinder != NULL && unwinder->symbols != symbols))
		return -EINVAL;
	all.size = ret->size < sizeof(all) ? ret->size : sizeof(all);
	if (frame & PM_FRAME_CALLER)
		address--;
	if (frame & PM_FRAME_KERNEL && !(frame & PM_FRAME_GUEST))
		find_kernel(symbols, address, &all);
	else if (!(frame & (PM_FRAME_GUEST | PM_FRAME_HYPERVISOR)) && unwinder != NULL)
		find_user(symbols, unwinder, address, &all);
	else if (!(frame & (PM_FRAME_GUEST | PM_FRAME_HYPERVISOR)))
		all.module = "[no maps]";
	memcpy(ret, &all, all.size);
	return 0;
}

/* ------------------------------------------------------------------------------------- lines */

/* Of the file itself; of its debug file where there is none in it. Half of the memory at most. */
static const struct chain_lines *lines_of(struct pm_symbols *symbols, struct cached *cached,
					  uint64_t address)
{
	const uint64_t limit = symbols->limit / 2;

	if (!cached->lines.looked) {
		lines_open(&cached->lines, cached->file.elf, limit);
		if (cached->lines.dwarf == NULL && cached->debug.elf != NULL)
			lines_open(&cached->lines, cached->debug.elf, limit);
		cache_trim(symbols);
	}
	return lines_find(&cached->lines, address, symbols->mangled);
}

int pm_symbols_lines(struct pm_symbols *symbols, struct pm_unwinder *unwinder, uint64_t address,
		     unsigned int frame, struct pm_line *ret, unsigned int room)
{
	const size_t each = room > 0 ? ret[0].size : sizeof(*ret);
	const struct chain_lines *chain = NULL;
	const struct module *module;

	if (each == 0 || (unwinder != NULL && unwinder->symbols != symbols))
		return -EINVAL;
	if (frame & PM_FRAME_CALLER)
		address--;
	if (unwinder == NULL || symbols->without_lines ||
	    frame & (PM_FRAME_KERNEL | PM_FRAME_GUEST | PM_FRAME_HYPERVISOR))
		return 0;
	module = unwinder_module(unwinder, address);
	if (module != NULL && module->cached->looked)
		chain = lines_of(symbols, module->cached, address - module->bias);
	for (size_t i = 0; chain != NULL && i < chain->count && i < room; i++) {
		const struct chain_line *line = &chain->list[i];
		const struct pm_line all = {
			.size = each < sizeof(all) ? each : sizeof(all),
			.name = line->demangled != NULL ? line->demangled : line->name,
			.raw_name = line->name, .file = line->file, .line = line->line,
		};

		memcpy((char *)ret + i * each, &all, all.size);
	}
	return chain != NULL ? (int)chain->count : 0;
}
