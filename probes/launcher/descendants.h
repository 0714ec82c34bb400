/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

/*
 * Send the signal to every descendant, as /proc shows them. Returns how many were alive, and not on
 * their way out already.
 */
int kill_descendants(int number);

#endif
