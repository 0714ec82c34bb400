/* SPDX-License-Identifier: MIT */
/*
 * The kernel numbers processes and threads of a pid namespace in turn, and the last field of
 * /proc/loadavg is the number that it gave last (proc(5)). While that stays, nobody was created.
 * To read it takes as long as to list a few threads.
 */
#define _GNU_SOURCE
#include "threads.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef PROC_SUPER_MAGIC
#define PROC_SUPER_MAGIC 0x9fa0	/* <linux/magic.h>, which not every C library comes with */
#endif

/* -1: it does not tell. */
static long last_number(int fd)
{
	char text[128];
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
	const char *last;

	if (size <= 0)
		return -1;
	text[size] = '\0';
	last = strrchr(text, ' ');
	return last != NULL && atol(last) > 0 ? atol(last) : -1;
}

void pm_thread_creation_begin(struct thread_creation *creation)
{
	struct statfs info;

	creation->fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	/* In containers a file system in user space may stand in for it, and tell old numbers. */
	if (creation->fd >= 0 && (fstatfs(creation->fd, &info) != 0 ||
				info.f_type != PROC_SUPER_MAGIC)) {
		close(creation->fd);
		creation->fd = -1;
	}
	creation->last = creation->fd >= 0 ? last_number(creation->fd) : -1;
}

bool pm_thread_creation_none(struct thread_creation *creation)
{
	long now = creation->fd >= 0 ? last_number(creation->fd) : -1;

	if (creation->fd >= 0)
		close(creation->fd);
	return creation->last > 0 && now == creation->last;
}
