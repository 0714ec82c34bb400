/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef REGULAR_H
#define REGULAR_H

#include <stdio.h>

/*
 * Opens a regular file for reading, closed at execve(2). Anything else is refused with EISDIR or
 * EINVAL: opening a FIFO would wait for its writer. Returns NULL with errno.
 */
FILE *regular_open(const char *path);

#endif
