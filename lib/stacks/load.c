/* SPDX-License-Identifier: MIT */
/* The symbols of a file: of its symbol tables, and of a file of debug symbols beside it. */
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "symbols.h"

/* ------------------------------------------------------------------------------- symbol tables */

static bool is_code(const struct file *file, uint64_t address)
{
	for (size_t i = 0; i < file->load_count; i++)
		if (file->loads[i].exec && address - file->loads[i].vaddr < file->loads[i].memory)
			return true;
	return false;
}

/*
 * Names with a size and seen from outside are better than labels. No program of today is linked to
 * one of an old version, which is hidden (the bit in its number).
 */
static uint32_t rank_of(const GElf_Sym *symbol, const char *name, GElf_Versym version)
{
	return (symbol->st_size != 0 ? 1u << 26 : 0) +
		(GELF_ST_TYPE(symbol->st_info) == STT_FUNC ? 1u << 25 : 0) +
		(GELF_ST_BIND(symbol->st_info) != STB_LOCAL && !(version & 0x8000) ? 1u << 24 : 0) +
		rank_of_name(name);
}

/* The numbers of the versions of the symbols in that section; NULL: they have none. */
static Elf_Data *versions_of(Elf *elf, Elf_Scn *symbols)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr head;

		if (gelf_getshdr(section, &head) != NULL && head.sh_type == SHT_GNU_versym &&
		    head.sh_size <= FILE_SECTION_MAX && elf_getscn(elf, head.sh_link) == symbols)
			return elf_getdata(section, NULL);
	}
	return NULL;
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
	Elf_Data *data = elf_getdata(section, NULL), *versions = versions_of(elf, section);
	const size_t each = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);

	if (data == NULL || each == 0)
		return;
	cached->strings += data->d_size;
	for (size_t i = 0; i < data->d_size / each; i++) {
		GElf_Versym version = 0;
		struct entry entry;
		GElf_Sym symbol;

		if (gelf_getsym(data, (int)i, &symbol) == NULL)
			return;
		entry.name = elf_strptr(elf, head->sh_link, symbol.st_name);
		if (!is_wanted(&symbol, entry.name) || !is_code(&cached->file, symbol.st_value))
			continue;
		entry.address = symbol.st_value;
		entry.size = symbol.st_size;
		if (versions != NULL)
			(void)gelf_getversym(versions, (int)i, &version);
		entry.rank = rank_of(&symbol, entry.name, version);
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

/* ------------------------------------------------------------------------------------ together */

static bool is_the_same(const struct file *a, const struct file *b)
{
	return a->machine == b->machine &&
		(a->build_id_size == 0 || (a->build_id_size == b->build_id_size &&
		 memcmp(a->build_id, b->build_id, a->build_id_size) == 0));
}

/* What is there may be of another build, or stripped like the file: then the next is tried. */
static bool take_debug_file(struct pm_symbols *symbols, struct cached *cached)
{
	for (unsigned int place = 0;; place++) {
		const int fd = debug_file_open(symbols, cached, place);

		if (fd == -ERANGE)
			return false;
		if (fd < 0 || file_open(fd, &cached->debug) < 0)
			continue;
		if (is_the_same(&cached->file, &cached->debug) &&
		    take_tables(cached, &cached->debug, SHT_SYMTAB))
			return true;
		file_close(&cached->debug);
		cached->debug.elf = NULL;
	}
}

/* It came with the file, so it is of the same build. */
static void take_packed(struct cached *cached)
{
	if (minidebug_open(&cached->file, &cached->debug) < 0)
		return;
	if (cached->debug.machine == cached->file.machine &&
	    take_tables(cached, &cached->debug, SHT_SYMTAB)) {
		cached->strings += cached->debug.size;
		return;
	}
	file_close(&cached->debug);
	cached->debug.elf = NULL;
}

void symbols_load(struct pm_symbols *symbols, struct cached *cached)
{
	if (cached->looked)
		return;
	cached->looked = true;
	plt_load(cached);
	if (take_tables(cached, &cached->file, SHT_SYMTAB))
		return;
	if (cached->file.image == NULL && !take_debug_file(symbols, cached))
		take_packed(cached);
	take_tables(cached, &cached->file, SHT_DYNSYM);
}
