/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command line of `launch`. It is a function, so that the tests can build the same launcher
 * with an interposer.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "supervise.h"

/* Returns the exit status; may also exit. `between` is NULL in the program that ships. */
int launch(int argc, char **argv, const struct interposer *between);

#endif
