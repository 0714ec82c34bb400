/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small ELF file in memory that has a known build id. Included behind probe.h.
 */
#ifndef TINY_ELF_H
#define TINY_ELF_H

#include "finding.h"

#include <elf.h>
#include <link.h>
#include <sys/syscall.h>

/* What of an ELF file the kernel reads: header, one program header, the note. */
struct tiny_elf {
	ElfW(Ehdr) header;
	ElfW(Phdr) program;
	ElfW(Nhdr) note;
	char name[4];
	uint8_t id[20];
};

static const struct tiny_elf tiny_elf = {
	.header = { .e_ident = { 0x7f, 'E', 'L', 'F', sizeof(long) == 8 ? ELFCLASS64 : ELFCLASS32,
				 __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
									   : ELFDATA2MSB,
				 EV_CURRENT },
		    .e_type = ET_DYN, .e_version = EV_CURRENT,
		    .e_phoff = offsetof(struct tiny_elf, program),
		    .e_ehsize = sizeof(ElfW(Ehdr)), .e_phentsize = sizeof(ElfW(Phdr)),
		    .e_phnum = 1 },
	.program = { .p_type = PT_NOTE, .p_offset = offsetof(struct tiny_elf, note),
		     .p_filesz = sizeof(ElfW(Nhdr)) + 24, .p_memsz = sizeof(ElfW(Nhdr)) + 24,
		     .p_align = 4 },
	.note = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID },
	.name = "GNU",
	.id = { 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 7, 6, 5, 4, 3, 2, 1, 99 },
};

/*
 * A descriptor of the file, a page long. Kernels that know build_id (v5.12) have memfd_create
 * (v3.17), which needs no writable disk.
 */
static inline int must_make_tiny_elf(void)
{
	int fd = must_call(syscall(SYS_memfd_create, "tiny", 0), "memfd_create");

	if (write(fd, &tiny_elf, sizeof(tiny_elf)) != sizeof(tiny_elf) ||
	    ftruncate(fd, probe_env()->page_size))
		say_unknown("no file in memory to map: %s", pm_errno_name(errno));
	return fd;
}

#endif
