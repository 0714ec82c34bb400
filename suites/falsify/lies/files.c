/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies about files, and about calls on events that are for any file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event.h"
#include "lies.h"

ssize_t __real_write(int fd, const void *buffer, size_t size);
ssize_t __wrap_write(int fd, const void *buffer, size_t size);
ssize_t __real_readlink(const char *path, char *target, size_t size);
ssize_t __wrap_readlink(const char *path, char *target, size_t size);
int __real_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret);

static bool is_setting(int fd)
{
	char path[32], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return __real_readlink(path, target, sizeof(target) - 1) > 0 &&
	       (!strncmp(target, "/proc/sys/", 10) || !strncmp(target, "/sys/", 5));
}

ssize_t __wrap_write(int fd, const void *buffer, size_t size)
{
	if (event_of(fd) && lie(LIE_file_writes))
		return (ssize_t)size;
	if (fd <= STDERR_FILENO || event_of(fd) || !is_setting(fd))
		return __real_write(fd, buffer, size);
	lie(LIE_signal_never_dies);	/* it may be the one about counters: noted here */
	if (lie(LIE_file_setting_refused)) {
		errno = EINVAL;
		return -1;
	}
	if (lie(LIE_file_setting_ignored))
		return (ssize_t)size;
	return __real_write(fd, buffer, size);
}

ssize_t __wrap_readlink(const char *path, char *target, size_t size)
{
	ssize_t length = __real_readlink(path, target, size);

	if (length > 12 && !memcmp(target, "anon_inode:", 11) && lie(LIE_file_name))
		memset(target + 12, 'x', (size_t)length - 12);
	return length;
}

int __wrap_fstat(int fd, struct stat *ret)
{
	const int result = __real_fstat(fd, ret);

	if (!result && event_of(fd) && lie(LIE_file_regular))
		ret->st_mode = (ret->st_mode & ~(mode_t)S_IFMT) | S_IFREG;
	return result;
}
