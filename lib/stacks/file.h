/* SPDX-License-Identifier: MIT */
/* An ELF file of somebody else's choice, opened within bounds. Not installed. */
#ifndef PM_STACKS_FILE_H
#define PM_STACKS_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FILE_SIZE_MAX ((uint64_t)8 << 30)
#define FILE_SECTION_MAX ((uint64_t)1 << 30)	/* bytes of what has to be in memory at once */
#define FILE_SECTIONS_MAX 65536
#define FILE_LOADS_MAX 64
#define FILE_BUILD_ID_MAX 32

/* A PT_LOAD segment. */
struct load {
	uint64_t vaddr, offset, size, memory, align;
	bool exec;
};

struct file {
	int fd;				/* -1: in memory */
	void *image;			/* in memory: the bytes, owned */
	Elf *elf;
	uint64_t size;
	unsigned int machine;		/* EM_* */
	struct load loads[FILE_LOADS_MAX];
	size_t load_count;
	uint8_t build_id[FILE_BUILD_ID_MAX];
	size_t build_id_size;
};

/*
 * Takes the descriptor over, also on failure. The file is read, never mapped: one that shrinks
 * meanwhile reads short and does not end the reader with SIGBUS. -ENOEXEC: no ELF file of this
 * machine's byte order and width, or beyond the bounds above; -ENOMEM; -errno of fstat(2).
 */
int file_open(int fd, struct file *ret);

/* The same of bytes in memory (a vDSO), taken over. */
int file_open_image(void *image, size_t size, struct file *ret);
void file_close(struct file *file);

/* Another reference for somebody who will call elf_end(). NULL on failure. */
Elf *file_share(const struct file *file);

/*
 * Where the file lies in a process that has mapped code from `offset` of it at `start`: what to add
 * to its addresses, and the addresses it takes up there. -ENOENT: no segment of code holds it.
 */
int file_place(const struct file *file, uint64_t start, uint64_t offset, uint64_t *bias,
	       uint64_t *low, uint64_t *high);

/* The section of that name, of up to `most` bytes; NULL: there is none. */
Elf_Scn *file_section(const struct file *file, const char *name, size_t most);

/* Whether what the file says of its frames can be worked out in bounded memory. */
bool cfi_is_bounded(const struct file *file);

/* Opens a path for reading, whatever it is: it never waits, and it is a regular file. -errno. */
int file_open_path(const char *path);

#endif
