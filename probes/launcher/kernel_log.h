/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel says in its log while a probe runs. The log is only read, from a place of our
 * own in it: nothing is cleared, and other readers see everything.
 */
#ifndef KERNEL_LOG_H
#define KERNEL_LOG_H

/* The log from now on, as a descriptor; -errno where it may not be read. */
int kernel_log_open(void);

/*
 * Write each complaint since then (complaints.def) to a file, as a line "#:kernel: SEQUENCE KIND:
 * MESSAGE". Returns how many lines were written, -1 when the log may not be read.
 */
int kernel_log_tell(int log, int to);

#endif
