/* SPDX-License-Identifier: MIT */
/* Memory of the program, which may say anything: what is read is bounded by the caller. */
#define _GNU_SOURCE
#include "explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

ssize_t memory_read(pid_t tid, uint64_t address, void *buf, size_t size)
{
	const struct iovec here = { buf, size };
	const struct iovec there = { (void *)(uintptr_t)address, size };
	const ssize_t got = process_vm_readv(tid, &here, 1, &there, 1, 0);

	return got >= 0 ? got : -errno;
}

/* Page by page: one read of all would fail where the text ends before a hole. */
int memory_text(pid_t tid, uint64_t address, char *buf, size_t size)
{
	size_t used = 0;

	while (used + 1 < size) {
		size_t part = 4096 - (size_t)((address + used) % 4096);
		ssize_t got;

		part = part < size - 1 - used ? part : size - 1 - used;
		got = memory_read(tid, address + used, buf + used, part);
		if (got <= 0)
			return got < 0 ? (int)got : -EFAULT;
		if (memchr(buf + used, '\0', (size_t)got) != NULL)
			return (int)strlen(buf);
		used += (size_t)got;
	}
	buf[used] = '\0';
	return -ENAMETOOLONG;
}
