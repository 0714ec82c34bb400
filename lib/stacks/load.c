/* SPDX-License-Identifier: MIT */
/* The symbols of a file: of its symbol tables, and of a file of debug symbols beside it. */
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

/* ------------------------------------------------------------------------------- symbol tables */

static bool is_code(const struct file *file, uint64_t address)
{
	for (size_t i = 0; i < file->load_count; i++)
		if (file->loads[i].exec && address - file->loads[i].vaddr < file->loads[i].memory)
			return true;
	return false;
}

/* Names with a size and seen from outside are better than labels. */
static uint32_t rank_of(const GElf_Sym *symbol)
{
	return (symbol->st_size != 0 ? 4u : 0) +
		(GELF_ST_TYPE(symbol->st_info) == STT_FUNC ? 2u : 0) +
		(GELF_ST_BIND(symbol->st_info) != STB_LOCAL);
}

static bool is_wanted(const GElf_Sym *symbol, const char *name)
{
	const unsigned int type = GELF_ST_TYPE(symbol->st_info);

	/* $x, $d and the like mark code and data on arm64 and riscv64 */
	return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
		symbol->st_shndx != SHN_UNDEF && name != NULL && name[0] != '\0' && name[0] != '$';
}

static void take_symbols(struct cached *cached, Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t each = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);

	if (data == NULL || each == 0)
		return;
	cached->strings += data->d_size;
	for (size_t i = 0; i < data->d_size / each; i++) {
		struct entry entry;
		GElf_Sym symbol;

		if (gelf_getsym(data, (int)i, &symbol) == NULL)
			return;
		entry.name = elf_strptr(elf, head->sh_link, symbol.st_name);
		if (!is_wanted(&symbol, entry.name) || !is_code(&cached->file, symbol.st_value))
			continue;
		entry.address = symbol.st_value;
		entry.size = symbol.st_size;
		entry.rank = rank_of(&symbol);
		if (table_add(&cached->table, &entry) < 0)
			return;
	}
}

static bool take_tables(struct cached *cached, const struct file *file, GElf_Word type)
{
	Elf_Scn *section = NULL;
	bool any = false;

	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		GElf_Shdr head, strings;
		Elf_Scn *link;

		if (gelf_getshdr(section, &head) == NULL || head.sh_type != type ||
		    head.sh_size > FILE_SECTION_MAX)
			continue;
		link = elf_getscn(file->elf, head.sh_link);
		if (link != NULL && gelf_getshdr(link, &strings) != NULL &&
		    strings.sh_type == SHT_STRTAB)
			cached->strings += strings.sh_size;
		take_symbols(cached, file->elf, section, &head);
		any = true;
	}
	return any;
}

/* --------------------------------------------------------------------------------- debug files */

static int open_by_build_id(const char *root, const struct file *file)
{
	char path[512];
	size_t used;

	if (file->build_id_size < 2)
		return -ENOENT;
	used = (size_t)snprintf(path, sizeof(path), "%s/.build-id/%02x/", root, file->build_id[0]);
	for (size_t i = 1; i < file->build_id_size && used < sizeof(path) - 16; i++)
		used += (size_t)snprintf(path + used, sizeof(path) - used, "%02x",
					 file->build_id[i]);
	if (used >= sizeof(path) - 16)
		return -ENOENT;
	strcat(path, ".debug");
	return file_open_path(path);
}

/* .gnu_debuglink: a file name, padding to 4, and a checksum of that file. */
static bool debug_link(const struct file *file, char *name, size_t size, uint32_t *checksum)
{
	Elf_Scn *section = NULL;
	size_t strings;

	if (elf_getshdrstrndx(file->elf, &strings) != 0)
		return false;
	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		GElf_Shdr head;
		Elf_Data *data;
		const char *title;

		if (gelf_getshdr(section, &head) == NULL || head.sh_size > LINK_MAX_BYTES)
			continue;
		title = elf_strptr(file->elf, strings, head.sh_name);
		if (title == NULL || strcmp(title, ".gnu_debuglink") != 0)
			continue;
		data = elf_rawdata(section, NULL);
		if (data == NULL || data->d_buf == NULL || data->d_size < 8 ||
		    memchr(data->d_buf, '\0', data->d_size - 4) == NULL ||
		    strlen(data->d_buf) >= size || strchr(data->d_buf, '/') != NULL)
			return false;
		strcpy(name, data->d_buf);
		memcpy(checksum, (const char *)data->d_buf + data->d_size - 4, 4);
		return true;
	}
	return false;
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

static int try_link(const char *before, const char *folder, size_t length, const char *between,
		    const char *name, uint32_t checksum)
{
	char path[4600];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s%.*s%s%s", before, (int)length, folder, between,
			     name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = file_open_path(path);
	if (fd >= 0 && !has_checksum(fd, checksum)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* The places where gdb(1) looks, in its order. */
static int open_by_link(const char *root, const struct cached *cached)
{
	const char *slash = strrchr(cached->name, '/');
	char name[256];
	uint32_t checksum;
	size_t folder;
	int fd;

	if (slash == NULL || !debug_link(&cached->file, name, sizeof(name), &checksum))
		return -ENOENT;
	folder = (size_t)(slash - cached->name) + 1;
	fd = try_link("", cached->name, folder, "", name, checksum);
	if (fd < 0)
		fd = try_link("", cached->name, folder, ".debug/", name, checksum);
	return fd >= 0 ? fd : try_link(root, cached->name, folder, "", name, checksum);
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

int debug_file_open(const struct pm_symbols *symbols, const struct cached *cached)
{
	int fd;

	if (cached->file.image != NULL)
		return -ENOENT;
	fd = open_by_build_id(symbols->debug_root, &cached->file);
	if (fd < 0)
		fd = open_by_link(symbols->debug_root, cached);
	if (fd < 0 && symbols->debuginfod && cached->file.build_id_size > 0)
		fd = open_by_server(&cached->file);
	return fd;
}

static bool is_the_same(const struct file *a, const struct file *b)
{
	return a->machine == b->machine &&
		(a->build_id_size == 0 || (a->build_id_size == b->build_id_size &&
		 memcmp(a->build_id, b->build_id, a->build_id_size) == 0));
}

void symbols_load(struct pm_symbols *symbols, struct cached *cached)
{
	int fd;

	if (cached->looked)
		return;
	cached->looked = true;
	if (take_tables(cached, &cached->file, SHT_SYMTAB))
		return;
	fd = debug_file_open(symbols, cached);
	if (fd >= 0 && file_open(fd, &cached->debug) == 0) {
		if (is_the_same(&cached->file, &cached->debug))
			take_tables(cached, &cached->debug, SHT_SYMTAB);
		else
			file_close(&cached->debug);
	}
	take_tables(cached, &cached->file, SHT_DYNSYM);
}
