/* SPDX-License-Identifier: MIT */
/*
 * Functions that the compiler put into others, and source lines, by the DWARF of a file.
 *
 * The file is somebody else's: sections that do not fit into memory are left alone, and each walk
 * through them has an end. Of a unit all functions are read at once, for siblings that are not
 * linked can be found only by reading all that is between them.
 */
#include "lines.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "file.h"

#define UNITS_MAX ((size_t)1 << 20)
#define SPANS_MAX ((size_t)8 << 20)
#define SIBLINGS_MAX (4 << 20)		/* of a unit */
#define NESTED_MAX 32			/* name spaces and types in one another */
#define KNOWN_MAX 65536			/* addresses of a file */
#define ROWS_MAX (1 << 20)		/* bytes of a line program: 64 times that in memory */

/* --------------------------------------------------------------------------------------- spans */

static bool add_span(struct spans *spans, uint64_t low, uint64_t high, uint64_t what)
{
	if (low >= high || spans->count >= SPANS_MAX)
		return false;
	if (spans->count == spans->room) {
		const size_t room = spans->room ? 2 * spans->room : 16;
		struct span *list = realloc(spans->list, room * sizeof(*list));

		if (list == NULL)
			return false;
		spans->list = list;
		spans->room = room;
	}
	spans->list[spans->count++] = (struct span){ low, high, what };
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct span *first = a, *second = b;

	return first->low < second->low ? -1 : first->low > second->low;
}

static void sort(struct spans *spans)
{
	if (spans->count > 1)
		qsort(spans->list, spans->count, sizeof(*spans->list), compare);
}

static const struct span *find_span(const struct spans *spans, uint64_t address)
{
	size_t low = 0, high = spans->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (spans->list[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < spans->list[low - 1].high ? &spans->list[low - 1] : NULL;
}

static void add_ranges(struct spans *spans, Dwarf_Die *die, uint64_t what)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	/* Code that the linker left out begins at 0. */
	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (low != 0)
			(void)add_span(spans, low, high, what);
}

/* ------------------------------------------------------------------------------------ the file */

/* Bytes of all sections of DWARF, decompressed; 0: there is none. */
static uint64_t bytes_of(Elf *elf)
{
	Elf_Scn *section = NULL;
	bool any = false;
	uint64_t bytes = 0;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings) != 0)
		return 0;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr head;
		GElf_Chdr compressed;
		const char *name;

		if (gelf_getshdr(section, &head) == NULL || head.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, strings, head.sh_name);
		if (name != NULL && strncmp(name, ".zdebug_", 8) == 0)
			return 0;
		if (name == NULL || strncmp(name, ".debug_", 7) != 0)
			continue;
		any |= strcmp(name, ".debug_info") == 0;
		if (head.sh_flags & SHF_COMPRESSED && gelf_getchdr(section, &compressed) == NULL)
			return 0;
		head.sh_size = head.sh_flags & SHF_COMPRESSED ? compressed.ch_size : head.sh_size;
		if (head.sh_size > FILE_SIZE_MAX)
			return 0;
		bytes += head.sh_size;
	}
	return any ? bytes : 0;
}

static const Elf_Data *find_section(Elf *elf, const char *wanted)
{
	Elf_Scn *section = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr head;
		const char *name = gelf_getshdr(section, &head) != NULL ?
			elf_strptr(elf, strings, head.sh_name) : NULL;
		const Elf_Data *data = name != NULL && strcmp(name, wanted) == 0 ?
			elf_getdata(section, NULL) : NULL;

		if (data != NULL && data->d_buf != NULL && data->d_size > 0)
			return data;
	}
	return NULL;
}

/* libdw 0.188 reads on behind the last string where nothing ends it. */
static bool ends(Elf *elf, const char *name)
{
	const Elf_Data *data = find_section(elf, name);

	return data == NULL || ((const char *)data->d_buf)[data->d_size - 1] == '\0';
}

/* The line program of a unit is no longer than it may be: its length is in front of it. */
static bool has_lines(Dwarf *dwarf, Dwarf_Die *unit)
{
	const Elf_Data *data = find_section(dwarf_getelf(dwarf), ".debug_line");
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	uint32_t length;

	if (data == NULL || data->d_size < sizeof(length) ||
	    dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &offset) != 0 ||
	    offset > data->d_size - sizeof(length))
		return false;
	memcpy(&length, (const char *)data->d_buf + offset, sizeof(length));
	return length <= ROWS_MAX;
}

static bool add_unit(struct lines *lines, Dwarf_Die *die)
{
	const size_t count = lines->unit_count;

	if (count >= UNITS_MAX)
		return false;
	if ((count & (count - 1)) == 0) {	/* room for as many again */
		struct unit *units = realloc(lines->units,
					     (count ? 2 * count : 1) * sizeof(*units));

		if (units == NULL)
			return false;
		lines->units = units;
	}
	lines->units[count] = (struct unit){ .die = dwarf_dieoffset(die) };
	lines->units[count].has_lines = has_lines(lines->dwarf, die);
	lines->unit_count++;
	add_ranges(&lines->ranges, die, count);
	return true;
}

void lines_open(struct lines *lines, Elf *elf, uint64_t limit)
{
	const uint64_t bytes = bytes_of(elf);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	lines->looked = true;
	bag_open(&lines->known);
	if (bytes == 0 || bytes > limit)
		return;
	lines->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (lines->dwarf == NULL)
		return;
	lines->bytes = bytes;
	if (!ends(elf, ".debug_str") || !ends(elf, ".debug_line_str"))
		return;
	while (dwarf_get_units(lines->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		if (dwarf_tag(&die) == DW_TAG_compile_unit && !add_unit(lines, &die))
			break;
	sort(&lines->ranges);
	lines->bytes += lines->ranges.room * sizeof(struct span) +
		lines->unit_count * sizeof(struct unit);
}

/* ------------------------------------------------------------------------------------- a unit */

/* Functions outside of others, also those in name spaces and types. */
static void add_functions(struct spans *functions, Dwarf_Die *parent, int *left, int depth)
{
	Dwarf_Die child;

	if (depth > NESTED_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			add_ranges(functions, &child, dwarf_dieoffset(&child));
			break;
		case DW_TAG_namespace: case DW_TAG_module: case DW_TAG_class_type:
		case DW_TAG_structure_type: case DW_TAG_union_type:
			add_functions(functions, &child, left, depth + 1);
			break;
		default:
			break;
		}
	} while ((*left)-- > 0 && dwarf_siblingof(&child, &child) == 0);
}

static void read_unit(struct lines *lines, struct unit *unit)
{
	int left = SIBLINGS_MAX;
	Dwarf_Die die;

	unit->read = true;
	if (dwarf_offdie(lines->dwarf, unit->die, &die) == NULL)
		return;
	add_functions(&unit->functions, &die, &left, 0);
	sort(&unit->functions);
	lines->bytes += unit->functions.room * sizeof(struct span);
}

/* --------------------------------------------------------------------------------- an address */

/* As the linker knows it; functions of C have a plain name alone. NULL: none, or one too long. */
static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name,
								 &attribute));

	if (name == NULL)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name,
							     &attribute));
	if (name == NULL)
		name = dwarf_diename(die);
	return name != NULL && strnlen(name, NAME_MAX_BYTES + 1) <= NAME_MAX_BYTES ? name : NULL;
}

static unsigned int number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 &&
		value <= INT32_MAX ? (unsigned int)value : 0;
}

/* The DIE below this one that holds the address: a block, or a function that was put there. */
static bool step_into(Dwarf_Die *die, uint64_t address, int *left)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return false;
	do {
		const int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(&child, address) > 0) {
			*die = child;
			return true;
		}
	} while ((*left)-- > 0 && dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* The functions at the address, outermost first. */
static size_t functions_at(Dwarf_Die *die, uint64_t address, Dwarf_Die *ret)
{
	int left = SIBLINGS_MAX;
	size_t count = 0;

	ret[count++] = *die;
	for (int depth = 0; depth < LINES_DEPTH_MAX && step_into(die, address, &left); depth++)
		if (dwarf_tag(die) == DW_TAG_inlined_subroutine && count < LINES_DEPTH_MAX)
			ret[count++] = *die;
	return count;
}

static void set_line(Dwarf_Die *unit, uint64_t address, struct chain_line *ret)
{
	Dwarf_Line *row = dwarf_getsrc_die(unit, address);
	int line;

	if (row == NULL)
		return;
	if (dwarf_lineno(row, &line) == 0 && line > 0)	/* 0: of no line, says the compiler */
		ret->line = (unsigned int)line;
	ret->file = dwarf_linesrc(row, NULL, NULL);
}

static struct chain_lines *make(Dwarf_Die *unit, bool has_lines, Dwarf_Die *functions,
				size_t count, uint64_t address)
{
	struct chain_lines *chain = calloc(1, sizeof(*chain) + count * sizeof(*chain->list));
	Dwarf_Files *files = NULL;

	if (chain == NULL)
		return NULL;
	chain->count = count;
	if (has_lines)
		(void)dwarf_getsrcfiles(unit, &files, NULL);
	for (size_t i = 0; i < count; i++) {
		struct chain_line *line = &chain->list[count - 1 - i];

		line->name = name_of(&functions[i]);
		if (i + 1 < count && files != NULL) {
			line->line = number_of(&functions[i + 1], DW_AT_call_line);
			line->file = dwarf_filesrc(files, number_of(&functions[i + 1],
								    DW_AT_call_file), NULL, NULL);
		}
	}
	if (has_lines)
		set_line(unit, address, &chain->list[0]);
	return chain;
}

static struct chain_lines *look_up(struct lines *lines, uint64_t address)
{
	const struct span *range = find_span(&lines->ranges, address), *function;
	Dwarf_Die functions[LINES_DEPTH_MAX], die, head;
	struct unit *unit;
	size_t count;

	if (range == NULL)
		return NULL;
	unit = &lines->units[range->what];
	if (!unit->read)
		read_unit(lines, unit);
	function = find_span(&unit->functions, address);
	if (function == NULL || dwarf_offdie(lines->dwarf, function->what, &die) == NULL ||
	    dwarf_offdie(lines->dwarf, unit->die, &head) == NULL)
		return NULL;
	count = functions_at(&die, address, functions);
	return make(&head, unit->has_lines, functions, count, address);
}

static void forget(struct lines *lines)
{
	for (size_t i = 0; i < lines->known.room; i++) {
		struct chain_lines *chain = (void *)(uintptr_t)lines->known.slots[i].value;

		if (lines->known.slots[i].key == NULL || chain == NULL)
			continue;
		for (size_t k = 0; k < chain->count; k++)
			free(chain->list[k].demangled);
		free(chain);
	}
	bag_clear(&lines->known);
}

const struct chain_lines *lines_find(struct lines *lines, uint64_t address, bool mangled)
{
	struct chain_lines *chain;
	uint64_t *known;

	if (lines->dwarf == NULL)
		return NULL;
	if (lines->known.count >= KNOWN_MAX)
		forget(lines);
	known = bag_take(&lines->known, &address, sizeof(address));
	if (known == NULL)
		return NULL;
	if (*known != 0)
		return (const struct chain_lines *)(uintptr_t)*known;
	chain = look_up(lines, address);
	if (chain == NULL)		/* an empty one, so that it is not looked for again */
		chain = calloc(1, sizeof(*chain));
	for (size_t i = 0; chain != NULL && !mangled && i < chain->count; i++)
		if (chain->list[i].name != NULL)
			chain->list[i].demangled = demangle(chain->list[i].name);
	*known = (uint64_t)(uintptr_t)chain;
	return chain;
}

void lines_close(struct lines *lines)
{
	forget(lines);
	for (size_t i = 0; i < lines->unit_count; i++)
		free(lines->units[i].functions.list);
	free(lines->units);
	free(lines->ranges.list);
	if (lines->dwarf != NULL)
		(void)dwarf_end(lines->dwarf);
	*lines = (struct lines){ .dwarf = NULL };
}
