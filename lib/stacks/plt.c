/* SPDX-License-Identifier: MIT */
/*
 * Calls of a shared library go through a procedure linkage table, whose pieces no symbol table
 * names. Each piece jumps by a slot that a relocation fills with a function's address: so it is
 * called after that function, "read@plt", as perf(1) and objdump(1) call it. What a piece's slot is
 * is read in its instructions, not in its number: linkers order and pad the table in several ways.
 * x86-64 and arm64.
 */
#include <endian.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

#define SLOTS_MAX ((size_t)1 << 20)
#define NAMES_MAX ((size_t)64 << 20)
#define SECTION_MAX ((size_t)64 << 20)

struct slot {
	uint64_t address;
	const char *name;
};

struct slots {
	struct slot *list;
	size_t count, room, bytes;	/* bytes: of the names, with @plt */
};

/* ----------------------------------------------------------------------------------- the slots */

static bool fills_a_slot(unsigned int machine, uint64_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

static bool add_slot(struct slots *slots, uint64_t address, const char *name)
{
	if (slots->count == slots->room) {
		const size_t room = slots->room ? 2 * slots->room : 256;
		struct slot *more = room <= SLOTS_MAX ?
			realloc(slots->list, room * sizeof(*more)) : NULL;

		if (more == NULL)
			return false;
		slots->list = more;
		slots->room = room;
	}
	slots->list[slots->count++] = (struct slot){ address, name };
	slots->bytes += strlen(name) + sizeof("@plt");
	return slots->bytes <= NAMES_MAX;
}

/* Of one section of relocations; its symbols are those of the section that it links to. */
static bool take_relocations(const struct file *file, Elf_Data *data, Elf_Scn *symbols,
			     struct slots *slots)
{
	const size_t each = gelf_fsize(file->elf, ELF_T_RELA, 1, EV_CURRENT);
	Elf_Data *table = symbols != NULL ? elf_getdata(symbols, NULL) : NULL;
	GElf_Shdr head;

	if (data == NULL || table == NULL || each == 0 || gelf_getshdr(symbols, &head) == NULL)
		return true;
	for (size_t i = 0; i < data->d_size / each; i++) {
		const char *name;
		GElf_Rela rela;
		GElf_Sym symbol;

		if (gelf_getrela(data, (int)i, &rela) == NULL)
			return true;
		if (!fills_a_slot(file->machine, GELF_R_TYPE(rela.r_info)) ||
		    gelf_getsym(table, (int)GELF_R_SYM(rela.r_info), &symbol) == NULL)
			continue;
		name = elf_strptr(file->elf, head.sh_link, symbol.st_name);
		if (name != NULL && name[0] != '\0' && !add_slot(slots, rela.r_offset, name))
			return false;
	}
	return true;
}

static int by_address(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Sorted. False: too many, or no memory. */
static bool find_slots(const struct file *file, struct slots *slots)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		GElf_Shdr head;

		if (gelf_getshdr(section, &head) == NULL || head.sh_type != SHT_RELA ||
		    head.sh_size > SECTION_MAX)
			continue;
		if (!take_relocations(file, elf_getdata(section, NULL),
				      elf_getscn(file->elf, head.sh_link), slots))
			return false;
	}
	if (slots->count > 0)
		qsort(slots->list, slots->count, sizeof(slots->list[0]), by_address);
	return slots->count > 0;
}

/* Names that last as long as the file's symbols, in one piece of memory. */
static char *name_slots(struct slots *slots)
{
	char *names = malloc(slots->bytes), *at = names;

	for (size_t i = 0; names != NULL && i < slots->count; i++) {
		struct slot *slot = &slots->list[i];

		at += sprintf(at, "%s@plt", slot->name) + 1;
		slot->name = at - strlen(slot->name) - sizeof("@plt");
	}
	return names;
}

/* ---------------------------------------------------------------------------------- the pieces */

/* Of a jump at `at`: where its slot is, where its piece begins. 0: there is no such jump. */
static uint64_t x86_slot(const uint8_t *code, size_t size, size_t at, uint64_t address,
			 size_t *begins)
{
	static const uint8_t jump[] = { 0xff, 0x25 }, branch_target[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint32_t distance;

	if (at + 6 > size || memcmp(code + at, jump, sizeof(jump)) != 0)
		return 0;
	memcpy(&distance, code + at + 2, sizeof(distance));
	*begins = at;
	if (*begins >= 1 && code[*begins - 1] == 0xf2)		/* bnd */
		*begins -= 1;
	if (*begins >= 4 && memcmp(code + *begins - 4, branch_target, 4) == 0)
		*begins -= 4;
	return address + at + 6 + (uint64_t)(int64_t)(int32_t)le32toh(distance);
}

static uint32_t word_at(const uint8_t *code, size_t at)
{
	uint32_t word;

	memcpy(&word, code + at, sizeof(word));
	return le32toh(word);
}

/* adrp x16, PAGE; ldr x17, [x16, OFFSET] */
static uint64_t arm64_slot(const uint8_t *code, size_t size, size_t at, uint64_t address,
			   size_t *begins)
{
	uint32_t page, load;
	uint64_t pages;

	if (at % 4 != 0 || at + 8 > size)
		return 0;
	page = word_at(code, at);
	load = word_at(code, at + 4);
	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return 0;
	*begins = at >= 4 && word_at(code, at - 4) == 0xd503245f ? at - 4 : at;	/* bti c */
	pages = (page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3);
	if (pages & 1u << 20)
		pages |= ~(uint64_t)0 << 21;
	return ((address + at) & ~(uint64_t)0xfff) + (pages << 12) + (load >> 10 & 0xfff) * 8;
}

static const struct slot *slot_at(const struct slots *slots, uint64_t address)
{
	const struct slot key = { .address = address };

	return address == 0 ? NULL :
		bsearch(&key, slots->list, slots->count, sizeof(key), by_address);
}

static void name_pieces(struct cached *cached, const char *title, const struct slots *slots)
{
	Elf_Scn *section = file_section(&cached->file, title, SECTION_MAX);
	Elf_Data *data = section != NULL ? elf_rawdata(section, NULL) : NULL;
	GElf_Shdr head;

	if (data == NULL || data->d_buf == NULL || gelf_getshdr(section, &head) == NULL)
		return;
	for (size_t at = 0; at < data->d_size; at++) {
		size_t begins = 0;
		const struct slot *slot = slot_at(slots, (cached->file.machine == EM_X86_64 ?
			x86_slot : arm64_slot)(data->d_buf, data->d_size, at, head.sh_addr,
					       &begins));
		const struct entry entry = {
			.address = head.sh_addr + begins,
			.size = head.sh_entsize >= 8 && head.sh_entsize <= 64 ?
				head.sh_entsize : 16,
			.name = slot != NULL ? slot->name : NULL,
		};

		if (slot != NULL && table_add(&cached->table, &entry) < 0)
			return;
	}
}

void plt_load(struct cached *cached)
{
	static const char *const titles[] = { ".plt", ".plt.sec", ".plt.got" };
	const struct file *file = &cached->file;
	struct slots slots = { 0 };

	if (file->machine != EM_X86_64 && file->machine != EM_AARCH64)
		return;
	if (find_slots(file, &slots))
		cached->plt_names = name_slots(&slots);
	if (cached->plt_names != NULL) {
		cached->strings += slots.bytes;
		for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
			name_pieces(cached, titles[i], &slots);
	}
	free(slots.list);
}
