/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a probe inherits: descriptors 0 to 2, an environment by list, and signals as they are by
 * default. A persona without privileges must not come by a descriptor or a secret of whoever
 * started the run, and its answers do not depend on how that was done.
 */
#ifndef INHERIT_H
#define INHERIT_H

/*
 * Open /dev/null for each of descriptors 0 to 2 that is closed: the next file would get its number
 * and be written to as standard output. All above 2 close at execve(2). Returns 0 or -errno.
 */
int inherit_descriptors(void);

/* No signal is blocked, and none ignored. */
void inherit_signals(void);

/* The variables of this process that a probe gets. Good until the next call. */
char **inherit_environment(void);

#endif
