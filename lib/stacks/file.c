/* SPDX-License-Identifier: MIT */
/*
 * Opening ELF files that a target mapped. libelf holds offsets and sizes against the size of the
 * file; what is added here keeps small files from asking for large memory, and sparse files from
 * being read in whole.
 */
#include "file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_native(const GElf_Ehdr *head)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const unsigned char order = ELFDATA2LSB;
#else
	const unsigned char order = ELFDATA2MSB;
#endif
	return head->e_ident[EI_DATA] == order && head->e_ident[EI_CLASS] == ELFCLASS64 &&
		(head->e_type == ET_EXEC || head->e_type == ET_DYN);
}

/* Ends at 2^64 would wrap in every sum of an address and a size. */
static bool is_sane(const struct load *load)
{
	const uint64_t limit = (uint64_t)1 << 62;

	return load->vaddr < limit && load->memory < limit && load->size < limit &&
		load->offset < limit && (load->align & (load->align - 1)) == 0;
}

static int take_loads(struct file *file)
{
	size_t count;

	if (elf_getphdrnum(file->elf, &count) != 0 || count > 4096)
		return -ENOEXEC;
	for (size_t i = 0; i < count && file->load_count < FILE_LOADS_MAX; i++) {
		struct load *load = &file->loads[file->load_count];
		GElf_Phdr head;

		if (gelf_getphdr(file->elf, (int)i, &head) == NULL)
			return -ENOEXEC;
		if (head.p_type != PT_LOAD)
			continue;
		*load = (struct load){ head.p_vaddr, head.p_offset, head.p_filesz, head.p_memsz,
				       head.p_align ? head.p_align : 1, head.p_flags & PF_X };
		if (!is_sane(load))
			return -ENOEXEC;
		file->load_count++;
	}
	return file->load_count > 0 ? 0 : -ENOEXEC;
}

static void take_build_id(struct file *file, const Elf_Data *data, uint64_t align)
{
	size_t at = 0, name, desc, next;
	GElf_Nhdr note;

	(void)align;
	while ((next = gelf_getnote((Elf_Data *)data, at, &note, &name, &desc)) > 0) {
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp((const char *)data->d_buf + name, "GNU", 4) == 0 &&
		    note.n_descsz > 0 && note.n_descsz <= FILE_BUILD_ID_MAX) {
			memcpy(file->build_id, (const char *)data->d_buf + desc, note.n_descsz);
			file->build_id_size = note.n_descsz;
			return;
		}
		at = next;
	}
}

static void look_for_build_id(struct file *file)
{
	size_t count = 0;

	if (elf_getphdrnum(file->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && file->build_id_size == 0; i++) {
		GElf_Phdr head;
		Elf_Data *data;

		if (gelf_getphdr(file->elf, (int)i, &head) == NULL || head.p_type != PT_NOTE ||
		    head.p_filesz > 65536)
			continue;
		data = elf_getdata_rawchunk(file->elf, (int64_t)head.p_offset, head.p_filesz,
					    head.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data != NULL)
			take_build_id(file, data, head.p_align);
	}
}

/* What libdwfl may load: a section in the file, or what a compressed one says that it becomes. */
static uint64_t loaded_size(Elf_Scn *section, const GElf_Shdr *head)
{
	GElf_Chdr packed;

	if (head->sh_type == SHT_NOBITS)
		return 0;
	if ((head->sh_flags & SHF_COMPRESSED) && gelf_getchdr(section, &packed) != NULL)
		return packed.ch_size;
	return head->sh_size;
}

static int check_sections(const struct file *file)
{
	Elf_Scn *section = NULL;
	uint64_t packed = 0;
	size_t count;

	if (elf_getshdrnum(file->elf, &count) != 0 || count > FILE_SECTIONS_MAX)
		return -ENOEXEC;
	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		GElf_Shdr head;
		uint64_t size;

		if (gelf_getshdr(section, &head) == NULL)
			return -ENOEXEC;
		size = loaded_size(section, &head);
		if (head.sh_flags & SHF_COMPRESSED)
			packed += size < FILE_SECTION_MAX ? size : FILE_SECTION_MAX;
		if (size > FILE_SECTION_MAX || packed > FILE_SECTION_MAX)
			return -ENOEXEC;
	}
	return 0;
}

static int take_in(struct file *file)
{
	GElf_Ehdr head;
	int err;

	if (file->elf == NULL || elf_kind(file->elf) != ELF_K_ELF ||
	    gelf_getehdr(file->elf, &head) == NULL || !is_native(&head))
		return -ENOEXEC;
	file->machine = head.e_machine;
	err = take_loads(file);
	if (err == 0)
		err = check_sections(file);
	if (err == 0)
		look_for_build_id(file);
	return err;
}

static int finish(struct file *file, struct file *ret)
{
	int err = take_in(file);

	if (err < 0)
		file_close(file);
	else
		*ret = *file;
	return err;
}

int file_open(int fd, struct file *ret)
{
	struct file file = { .fd = fd };
	struct stat status;

	(void)elf_version(EV_CURRENT);
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 64 ||
	    (uint64_t)status.st_size > FILE_SIZE_MAX) {
		close(fd);
		return -ENOEXEC;
	}
	file.size = (uint64_t)status.st_size;
	file.elf = elf_begin(fd, ELF_C_READ, NULL);
	return finish(&file, ret);
}

int file_open_image(void *image, size_t size, struct file *ret)
{
	struct file file = { .fd = -1, .image = image, .size = size };

	(void)elf_version(EV_CURRENT);
	file.elf = elf_memory(image, size);
	return finish(&file, ret);
}

void file_close(struct file *file)
{
	if (file->elf != NULL)
		elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->image);
	*file = (struct file){ .fd = -1 };
}

Elf *file_share(const struct file *file)
{
	return elf_begin(file->fd, ELF_C_READ, file->elf);
}

int file_place(const struct file *file, uint64_t start, uint64_t offset, uint64_t *bias,
	       uint64_t *low, uint64_t *high)
{
	const struct load *first = &file->loads[0], *last = &file->loads[file->load_count - 1];
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < file->load_count; i++) {
		const struct load *load = &file->loads[i];

		if (!load->exec || offset < (load->offset & -page) ||
		    offset >= load->offset + load->size)
			continue;
		*bias = start - offset - (load->vaddr - load->offset);
		*low = *bias + (first->vaddr & -first->align);
		*high = *bias + last->vaddr + last->memory;
		return *low < *high ? 0 : -ENOENT;
	}
	return -ENOENT;
}

Elf_Scn *file_section(const struct file *file, const char *name, size_t most)
{
	Elf_Scn *section = NULL;
	size_t strings;

	if (elf_getshdrstrndx(file->elf, &strings) != 0)
		return NULL;
	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		GElf_Shdr head;
		const char *title;

		if (gelf_getshdr(section, &head) == NULL || head.sh_size > most)
			continue;
		title = elf_strptr(file->elf, strings, head.sh_name);
		if (title != NULL && strcmp(title, name) == 0)
			return section;
	}
	return NULL;
}

int file_open_path(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		close(fd);
		return -EACCES;
	}
	return fd;
}
