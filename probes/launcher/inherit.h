/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a probe inherits: descriptors 0 to 2, and an environment by list. A persona without
 * privileges must not come by a descriptor or a secret of whoever started the run.
 */
#ifndef INHERIT_H
#define INHERIT_H

/*
 * Open /dev/null for each of descriptors 0 to 2 that is closed: the next file would get its number
 * and be written to as standard output. All above 2 close at execve(2). Returns 0 or -errno.
 */
int inherit_descriptors(void);

/* The variables of this process that a probe gets. Good until the next call. */
char **inherit_environment(void);

#endif
