/* SPDX-License-Identifier: MIT */
/*
 * A machine of our own: while a fake root is set, open(2) of /sys/... and /proc/... by the code
 * under test goes below a temporary directory. The definition of open() here takes the place of
 * libc's for the whole program.
 */
#ifndef FAKE_FILES_H
#define FAKE_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char fake_root[64];

/* When set, paths that do not begin so are the machine's own. */
static const char *fake_only;

/* A path that answers with an errno, because the tests may run as root. */
static const char *fake_denied_path;
static int fake_denied_errno;

static inline bool fake_is_meant(const char *path)
{
	if (fake_only != NULL)
		return strncmp(path, fake_only, strlen(fake_only)) == 0;
	return strncmp(path, "/sys", 4) == 0 || strncmp(path, "/proc", 5) == 0 ||
		strcmp(path, "/.dockerenv") == 0 || strcmp(path, "/run/.containerenv") == 0;
}

int open(const char *path, int flags, ...)
{
	char below[PATH_MAX];
	unsigned int mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, unsigned int);
	va_end(args);
	if (fake_root[0] && fake_is_meant(path)) {
		if (fake_denied_path != NULL && strcmp(path, fake_denied_path) == 0) {
			errno = fake_denied_errno;
			return -1;
		}
		snprintf(below, sizeof(below), "%s%s", fake_root, path);
		path = below;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#ifdef __GLIBC__
/* What open() is called where _FILE_OFFSET_BITS is 64. */
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
#endif

static inline void fake_write(const char *path, const void *data, size_t size)
{
	char below[PATH_MAX];
	FILE *file;

	snprintf(below, sizeof(below), "%s%s", fake_root, path);
	for (char *slash = below + strlen(fake_root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		assert_true(mkdir(below, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(below, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static inline void fake_file(const char *path, const char *text)
{
	fake_write(path, text, strlen(text));
}

static inline int fake_setup(void **state)
{
	(void)state;
	strcpy(fake_root, "/tmp/perfmodes-test-XXXXXX");
	fake_denied_path = fake_only = NULL;
	return mkdtemp(fake_root) ? 0 : -1;
}

static inline int fake_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int fake_teardown(void **state)
{
	(void)state;
	nftw(fake_root, fake_remove, 16, FTW_DEPTH | FTW_PHYS);
	fake_root[0] = '\0';
	return 0;
}

#endif
