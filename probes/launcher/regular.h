/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef REGULAR_H
#define REGULAR_H

#include <stdio.h>

/*
 * Open a regular file for reading, closed at execve(2). Anything else is refused with EISDIR or EINVAL: to
 * open a FIFO would be to wait for its writer. Returns NULL with errno.
 */
FILE *regular_open(const char *path);

#endif
