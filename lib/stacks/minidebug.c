/* SPDX-License-Identifier: MIT */
/*
 * MiniDebugInfo: a section .gnu_debugdata of a stripped file holds, packed by xz, an ELF file with
 * the symbols that the dynamic ones leave out. Fedora, RHEL and SUSE build their programs so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "symbols.h"

#define PACKED_MAX ((size_t)16 << 20)
#define UNPACKED_MAX ((size_t)64 << 20)
#define MEMORY_MAX ((uint64_t)128 << 20)	/* of the decoder: its dictionary */
#define LZMA_OK 0
#define LZMA_BUF_ERROR 10			/* there is more than fits */

/* liblzma's, which libdw brings along where it unpacks such sections itself. */
typedef int decode_function(uint64_t *memory, uint32_t flags, const void *allocator,
			    const uint8_t *in, size_t *in_at, size_t in_size,
			    uint8_t *out, size_t *out_at, size_t out_size);

/* To be freed. NULL: no xz, too large, or no memory. */
static void *unpack(decode_function *decode, const Elf_Data *data, size_t *ret_size)
{
	size_t room = data->d_size * 4;

	for (int result = LZMA_BUF_ERROR; result == LZMA_BUF_ERROR; room *= 2) {
		uint64_t memory = MEMORY_MAX;
		size_t in = 0, out = 0;
		void *image = room <= UNPACKED_MAX ? malloc(room) : NULL;

		if (image == NULL)
			return NULL;
		result = decode(&memory, 0, NULL, data->d_buf, &in, data->d_size, image, &out,
				room);
		if (result == LZMA_OK && out > 0) {
			*ret_size = out;
			return image;
		}
		free(image);
	}
	return NULL;
}

int minidebug_open(const struct file *file, struct file *ret)
{
	Elf_Scn *section = file_section(file, ".gnu_debugdata", PACKED_MAX);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	decode_function *decode;
	void *library, *image;
	size_t size = 0;

	if (data == NULL || data->d_buf == NULL || data->d_size == 0)
		return -ENOENT;
	library = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return -ENOSYS;
	*(void **)&decode = dlsym(library, "lzma_stream_buffer_decode");
	image = decode ? unpack(decode, data, &size) : NULL;
	dlclose(library);
	return image ? file_open_image(image, size, ret) : -ENOEXEC;
}
