/* SPDX-License-Identifier: GPL-2.0-only */
/* Opening regular files only. See regular.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "regular.h"

FILE *regular_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;
	struct stat what;
	FILE *file = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &what) == 0 && !S_ISREG(what.st_mode))
		errno = S_ISDIR(what.st_mode) ? EISDIR : EINVAL;
	else
		file = fdopen(fd, "r");
	error = errno;
	if (!file)
		close(fd);
	errno = error;
	return file;
}
