/* SPDX-License-Identifier: MIT */
/* Former files beside the present one: PATH.1 is the newest. */
#define _GNU_SOURCE
#include "rotate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096

int rotate_open(const char *path)
{
	int fd;

	if (strcmp(path, "/dev/stdout") == 0)
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else if (strcmp(path, "/dev/stderr") == 0)
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
	return fd < 0 ? -errno : fd;
}

bool rotate_can(const char *path)
{
	struct stat stat;

	return lstat(path, &stat) == 0 ? S_ISREG(stat.st_mode) : errno == ENOENT;
}

int rotate_path(const char *path, int64_t former)
{
	char from[PATH_BYTES], to[PATH_BYTES];

	for (int64_t i = former; i > 0; i--) {
		const int length = i == 1 ? snprintf(from, sizeof(from), "%s", path) :
			snprintf(from, sizeof(from), "%s.%lld", path, (long long)i - 1);

		if (length >= (int)sizeof(from) ||
		    snprintf(to, sizeof(to), "%s.%lld", path, (long long)i) >= (int)sizeof(to))
			return -ENAMETOOLONG;
		if (rename(from, to) != 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}
