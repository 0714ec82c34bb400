/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_ROTATE_H
#define SERVICE_ROTATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A file that is made or emptied. A standard stream is not opened anew: that would cut off a file
 * that it is, and a pipe of another user would refuse it. -errno.
 */
int rotate_open(const char *path);

/* Whether the path is that of a regular file, or of none: a terminal or a pipe goes on. */
bool rotate_can(const char *path);

/*
 * Renames PATH to PATH.1, what was PATH.1 to PATH.2, and so on up to so many. Where somebody else
 * has moved PATH away already the others move all the same. -errno.
 */
int rotate_path(const char *path, int64_t former);

#endif
