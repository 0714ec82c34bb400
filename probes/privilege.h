/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a probe may do to its own privileges and, with leave, to files of the machine.
 */
#ifndef PRIVILEGE_H
#define PRIVILEGE_H

#include <stdint.h>

/* Make this process a stranger: that uid if it is root's, no capabilities. Returns 0 or -errno. */
int drop_privileges(unsigned int uid);

/*
 * Give up all capabilities but those in `keep` (1 << PM_CAP_...), and root's uid as well, for the
 * rest of this test. What probe_env() says was read before. Returns 0 or -errno.
 */
int drop_to(uint64_t keep);

/*
 * Put a small file of /proc/sys or /sys back to what it holds now when this program ends: at its
 * exit, on SIGTERM and SIGINT, and by a guard process where it is killed. For probes that DISTURB:
 * call it from a constructor, once a file. Does nothing without leave to disturb.
 */
void keep_file(const char *path);
/* Write a text to a file. Returns 0 or -errno. */
int write_file(const char *path, const char *text);

#endif
