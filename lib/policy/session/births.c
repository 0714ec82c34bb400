/* SPDX-License-Identifier: MIT */
/*
 * The kernel numbers processes and threads of a pid namespace in turn, and the last field of
 * /proc/loadavg is the number that it gave last (proc(5)). While that stays, nobody was born. To
 * read it takes as long as to list a few threads.
 */
#define _GNU_SOURCE
#include "births.h"

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

void pm_births_begin(struct births *births)
{
	struct statfs info;

	births->fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	/* In containers a file system in user space may stand in for it, and tell old numbers. */
	if (births->fd >= 0 && (fstatfs(births->fd, &info) != 0 ||
				info.f_type != PROC_SUPER_MAGIC)) {
		close(births->fd);
		births->fd = -1;
	}
	births->last = births->fd >= 0 ? last_number(births->fd) : -1;
}

bool pm_births_none(struct births *births, bool known)
{
	long now = births->fd >= 0 ? last_number(births->fd) : -1;

	if (births->fd >= 0)
		close(births->fd);
	return births->last > 0 && now == births->last + known;
}
