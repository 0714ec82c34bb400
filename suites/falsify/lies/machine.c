/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine that is short of memory: it takes the program's code away again and again, so that page
 * faults come that nobody has caused. No lie of the kernel: a point may say unknown, never broken.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lies.h"

extern char __executable_start[], etext[];	/* of the linker: the program's code */

static void *take_code(void *unused)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t from = (uintptr_t)__executable_start & -page;
	const uintptr_t to = (uintptr_t)etext & -page;

	for (;;)
		madvise((void *)from, to - from, MADV_DONTNEED);
	return unused;
}

void lies_take_code(void)
{
	static int owner;
	pthread_t thread;

	if (owner == getpid() || !lie(LIE_machine_reclaims))
		return;
	owner = getpid();
	pthread_create(&thread, NULL, take_code, NULL);
}
