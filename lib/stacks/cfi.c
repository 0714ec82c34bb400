/* SPDX-License-Identifier: MIT */
/*
 * How a frame is left (.eh_frame, .debug_frame) is worked out by libdw, which keeps a table of all
 * registers up to the highest that is named: a file of 700 bytes that names number 100,000,000
 * costs 1.6 GB and a second for each frame. So a file is looked through before it is trusted. The
 * highest number in use is 8191, of RISC-V's.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <endian.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "file.h"

#define REGISTERS_MAX 16384

struct bytes {
	const uint8_t *at, *end;
};

struct table_of_frames {
	const unsigned char *ident;
	Elf_Data *data;
	bool exceptions;		/* .eh_frame */
	uint64_t cie;			/* where the last one stood that was read */
	bool sized;			/* its FDEs have data of their own */
	uint8_t encoding;		/* of their addresses */
	size_t unsized;			/* bytes of data that they have otherwise */
};

static uint8_t take_byte(struct bytes *bytes)
{
	return bytes->at < bytes->end ? *bytes->at++ : 0;
}

static void skip(struct bytes *bytes, uint64_t size)
{
	bytes->at = size < (uint64_t)(bytes->end - bytes->at) ? bytes->at + size : bytes->end;
}

/* A number of any length; too large a one is a large one. */
static uint64_t take_number(struct bytes *bytes)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = take_byte(bytes);
		if (shift < 63)
			value |= (uint64_t)(byte & 0x7f) << shift;
		else if (byte & 0x7f)
			value = UINT64_MAX;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static void skip_address(const struct table_of_frames *table, struct bytes *bytes, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_uleb128:
	case DW_EH_PE_sleb128:
		(void)take_number(bytes);
		break;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		skip(bytes, 2);
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		skip(bytes, 4);
		break;
	case DW_EH_PE_absptr:
		skip(bytes, table->ident[EI_CLASS] == ELFCLASS32 ? 4 : 8);
		break;
	default:
		skip(bytes, 8);
	}
}

/* One instruction whose operation is not in its upper bits. False: a register beyond the most. */
static bool take_instruction(const struct table_of_frames *table, struct bytes *bytes, uint8_t code)
{
	/* r register, n number, b block, a address, 1 to 8 bytes */
	static const char *const operands[0x30] = {
		[DW_CFA_set_loc] = "a", [DW_CFA_advance_loc1] = "1", [DW_CFA_advance_loc2] = "2",
		[DW_CFA_advance_loc4] = "4", [DW_CFA_offset_extended] = "rn",
		[DW_CFA_restore_extended] = "r", [DW_CFA_undefined] = "r",
		[DW_CFA_same_value] = "r", [DW_CFA_register] = "rn", [DW_CFA_def_cfa] = "rn",
		[DW_CFA_def_cfa_register] = "r", [DW_CFA_def_cfa_offset] = "n",
		[DW_CFA_def_cfa_expression] = "b", [DW_CFA_expression] = "rb",
		[DW_CFA_offset_extended_sf] = "rn", [DW_CFA_def_cfa_sf] = "rn",
		[DW_CFA_def_cfa_offset_sf] = "n", [DW_CFA_val_offset] = "rn",
		[DW_CFA_val_offset_sf] = "rn", [DW_CFA_val_expression] = "rb",
		[DW_CFA_MIPS_advance_loc8] = "8", [DW_CFA_GNU_args_size] = "n",
		[DW_CFA_GNU_negative_offset_extended] = "rn",
	};
	const char *next = code < 0x30 && operands[code] != NULL ? operands[code] : "";

	for (; *next != '\0'; next++) {
		if (*next == 'r' && take_number(bytes) > REGISTERS_MAX)
			return false;
		else if (*next == 'n')
			(void)take_number(bytes);
		else if (*next == 'b')
			skip(bytes, take_number(bytes));
		else if (*next == 'a')
			skip_address(table, bytes, table->encoding);
		else if (*next != 'r')
			skip(bytes, (uint64_t)(*next - '0'));
	}
	return true;
}

static bool are_bounded(const struct table_of_frames *table, struct bytes bytes)
{
	while (bytes.at < bytes.end) {
		const uint8_t code = take_byte(&bytes);

		if ((code & 0xc0) == DW_CFA_offset)
			(void)take_number(&bytes);
		else if ((code & 0xc0) == 0 && !take_instruction(table, &bytes, code))
			return false;
	}
	return true;
}

/* What a CIE says of its FDEs. */
static void take_cie(struct table_of_frames *table, uint64_t offset, const Dwarf_CIE *cie)
{
	const uint8_t *end = cie->initial_instructions_end;
	struct bytes data = { cie->augmentation_data ? cie->augmentation_data : end, end };

	table->cie = offset;
	table->sized = cie->augmentation[0] == 'z';
	table->encoding = DW_EH_PE_absptr;
	table->unsized = cie->fde_augmentation_data_size;
	for (const char *next = cie->augmentation; *next != '\0'; next++) {
		if (*next == 'R')
			table->encoding = take_byte(&data);
		else if (*next == 'L')
			(void)take_byte(&data);
		else if (*next == 'P')
			skip_address(table, &data, take_byte(&data));
		else if (*next != 'z' && *next != 'S')
			return;
	}
}

static bool is_bounded(struct table_of_frames *table, uint64_t offset, const Dwarf_CFI_Entry *entry)
{
	struct bytes code;

	if (dwarf_cfi_cie_p((Dwarf_CFI_Entry *)entry)) {
		take_cie(table, offset, &entry->cie);
		code = (struct bytes){ entry->cie.initial_instructions,
				       entry->cie.initial_instructions_end };
		return entry->cie.return_address_register <= REGISTERS_MAX &&
			are_bounded(table, code);
	}
	if (entry->fde.CIE_pointer != table->cie) {
		Dwarf_CFI_Entry cie;
		uint64_t next;

		if (dwarf_next_cfi(table->ident, table->data, table->exceptions,
				   entry->fde.CIE_pointer, &next, &cie) != 0 ||
		    !dwarf_cfi_cie_p(&cie))
			return true;		/* nobody can use it */
		take_cie(table, entry->fde.CIE_pointer, &cie.cie);
	}
	code = (struct bytes){ entry->fde.start, entry->fde.end };
	skip_address(table, &code, table->encoding);
	skip_address(table, &code, table->encoding & 0x0f);
	skip(&code, table->sized ? take_number(&code) : table->unsized);
	return are_bounded(table, code);
}

/* Of a section's bytes, which are read in no other way. */
static bool frames_are_bounded(const struct file *file, Elf_Data *data, bool exceptions)
{
	struct table_of_frames table = {
		.ident = (const unsigned char *)elf_getident(file->elf, NULL), .data = data,
		.exceptions = exceptions, .cie = UINT64_MAX,
	};
	Dwarf_CFI_Entry entry;
	Dwarf_Off next = 0;

	for (Dwarf_Off at = 0; at < data->d_size; at = next) {
		const int err = dwarf_next_cfi(table.ident, data, exceptions, at, &next, &entry);

		if (err == 1 || next <= at)
			return true;		/* the end */
		if (err == 0 && !is_bounded(&table, at, &entry))
			return false;
	}
	return true;
}

/* Of a stream of zlib's, which is `size` bytes when it is unpacked. */
static bool packed_are_bounded(const struct file *file, const uint8_t *from, size_t from_size,
			       uint64_t size)
{
	Elf_Data data = { .d_buf = size <= FILE_SECTION_MAX ? malloc(size + 1) : NULL };
	uLongf got = size;
	bool ret = false;

	if (data.d_buf != NULL && uncompress(data.d_buf, &got, from, from_size) == Z_OK) {
		data.d_size = got;
		ret = frames_are_bounded(file, &data, false);
	}
	free(data.d_buf);
	return ret;
}

static bool section_is_bounded(const struct file *file, const char *name, bool exceptions)
{
	Elf_Scn *section = file_section(file, name, FILE_SECTION_MAX);
	Elf_Data *data = section != NULL ? elf_rawdata(section, NULL) : NULL;
	const uint8_t *bytes = data != NULL ? data->d_buf : NULL;
	GElf_Shdr head;
	GElf_Chdr packed;
	size_t before;
	uint64_t size;

	if (bytes == NULL || gelf_getshdr(section, &head) == NULL)
		return true;
	if (head.sh_flags & SHF_COMPRESSED) {
		before = gelf_fsize(file->elf, ELF_T_CHDR, 1, EV_CURRENT);
		return gelf_getchdr(section, &packed) != NULL &&
			packed.ch_type == ELFCOMPRESS_ZLIB && before < data->d_size &&
			packed_are_bounded(file, bytes + before, data->d_size - before,
					   packed.ch_size);
	}
	if (strncmp(name, ".z", 2) != 0)
		return frames_are_bounded(file, data, exceptions);
	if (data->d_size <= 12 || memcmp(bytes, "ZLIB", 4) != 0)
		return true;
	memcpy(&size, bytes + 4, sizeof(size));
	return packed_are_bounded(file, bytes + 12, data->d_size - 12, be64toh(size));
}

/* libdw would find .eh_frame by this header, too. */
static bool has_unnamed_frames(const struct file *file)
{
	size_t count;

	if (file_section(file, ".eh_frame", SIZE_MAX) != NULL ||
	    elf_getphdrnum(file->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr head;

		if (gelf_getphdr(file->elf, (int)i, &head) != NULL &&
		    head.p_type == PT_GNU_EH_FRAME)
			return true;
	}
	return false;
}

bool cfi_is_bounded(const struct file *file)
{
	return !has_unnamed_frames(file) && section_is_bounded(file, ".eh_frame", true) &&
		section_is_bounded(file, ".debug_frame", false) &&
		section_is_bounded(file, ".zdebug_frame", false);
}
