/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The side channel of a guest: a serial line on which finished files leave while the run goes on.
 */
#ifndef FRAME_H
#define FRAME_H

/*
 * Append an open file to `to`: a line "@@file NAME BYTES CRC" (the CRC of cksum(1)), its bytes, a
 * newline. Done here because forking cksum and cat for each probe costs an emulated guest more
 * than the probe does. Returns 0 or -1 with errno.
 */
int frame_append(int fd, const char *to, const char *name);

/*
 * Print what cksum(1) prints of standard input, for systems that lack it: busybox of Debian, say.
 * Returns 0 or -1 with errno.
 */
int frame_cksum(int fd);

#endif
