/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels before v3.15 map one page of a file for each page fault (8c6e50b0290c, "mm: introduce
 * vm_ops->map_pages()", maps what lies around as well). There the first call of a function is a
 * fault, and an event would count it beside those that a test causes.
 */
#define _GNU_SOURCE
#include "own_text.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#define AROUND 16		/* pages that newer kernels map with one fault */

static long faults_so_far(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt : 0;
}

/* Until it is clear that the kernel maps what lies around. Returns whether it is not. */
static bool touch(const volatile char *begin, size_t size, size_t page)
{
	const long before = faults_so_far();

	for (size_t at = 0; at < size; at += page) {
		(void)begin[at];
		if (at == AROUND * page && faults_so_far() - before < AROUND / 4)
			return false;
	}
	return true;
}

static int touch_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)size;
	(void)unused;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_LOAD && (part->p_flags & (PF_R | PF_X)) == (PF_R | PF_X) &&
		    !touch((const volatile char *)begin, part->p_memsz, page))
			return 1;
	}
	return 0;
}

void map_own_text(void)
{
	static bool is_mapped;

	if (is_mapped)
		return;
	is_mapped = true;
	dl_iterate_phdr(touch_program, NULL);
}
