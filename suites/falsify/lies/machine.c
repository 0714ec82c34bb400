/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine that is short of memory: it takes the program's code away with each call, so that page
 * faults come that nobody has caused. No lie of the kernel: a point may say unknown, never broken.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lies.h"

extern char __executable_start[], etext[];	/* of the linker: the program's code */

void lies_take_code(void)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t from = (uintptr_t)__executable_start & -page;

	if (lie(LIE_machine_reclaims))
		madvise((void *)from, ((uintptr_t)etext & -page) - from, MADV_DONTNEED);
}
