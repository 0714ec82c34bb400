/* SPDX-License-Identifier: MIT */
/*
 * Unmapping interrupts each CPU that one of its threads was on, for longer than all else takes that
 * is done there. So the memory is kept until the session is undone.
 */
#define _GNU_SOURCE
#include "canary_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#define PAGES 128		/* more than are touched between two calls of madvise(2) */

void pm_canary_memory_make(struct canary_memory *memory)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	const size_t size = CANARY_STACK + PAGES * page_size;
	char *area;

	if (memory->stack != NULL)
		return;
	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return;
	*memory = (struct canary_memory){
		.stack = area, .pages = area + CANARY_STACK, .page_size = page_size,
	};
#ifdef MADV_NOHUGEPAGE
	/* Of all of it, so that it stays one mapping. */
	(void)madvise(area, size, MADV_NOHUGEPAGE);
#endif
}

void pm_canary_memory_free(struct canary_memory *memory)
{
	if (memory->stack != NULL)
		(void)munmap(memory->stack, CANARY_STACK + PAGES * memory->page_size);
	memory->stack = NULL;
}

/* A mapping for each fault would cost more. */
void pm_canary_fault(struct canary_memory *memory, size_t count)
{
	if (memory->stack == NULL)
		return;
	if (memory->used + count > PAGES) {
		(void)madvise(memory->pages, PAGES * memory->page_size, MADV_DONTNEED);
		memory->used = 0;
	}
	/* The page of zeros takes less than one of its own. */
	for (size_t i = 0; i < count; i++)
		(void)((volatile char *)memory->pages)[memory->used++ * memory->page_size];
	memory->faults += count;
}
