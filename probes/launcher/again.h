/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe that asks to be run once more: see probes/kit/again.h.
 */
#ifndef LAUNCHER_AGAIN_H
#define LAUNCHER_AGAIN_H

#include <stdbool.h>

#define AGAIN_RUNS 6			/* the last of which counts, whatever it says */

/* If what the probe wrote asks for it, the file is emptied for what it writes next. */
bool again_begin(int output);

#endif
