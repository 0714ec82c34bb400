/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel as old as Linux 3.10, as far as a system call filter can play it.
 */
#ifndef OLD_KERNEL_H
#define OLD_KERNEL_H

/*
 * From here on this process and all it starts get ENOSYS from system calls newer than Linux 3.10.
 * Returns 0 or -errno after a line on stderr.
 */
int old_kernel_filter(void);

#endif
