/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel that lies, played by a system call filter: calls that answer an error, or answer
 * success and do nothing. With it the project shows for every point that its probe can say
 * something other than yes; a check that cannot fail is no check.
 */
#ifndef FAULT_H
#define FAULT_H

#include <stdio.h>

/* Print the names of all faults, one a line. */
void fault_list(FILE *to);

/* Let this process and all it starts see a kernel with that fault. Returns 0, -ENOENT for an
 * unknown name, or -errno. */
int fault_inject(const char *name);

#endif
