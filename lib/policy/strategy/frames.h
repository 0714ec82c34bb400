/* SPDX-License-Identifier: MIT */
/* The call chain of an interrupted thread, walked in the signal's handler; not installed. */
#ifndef PM_FRAMES_H
#define PM_FRAMES_H

#include <stdint.h>

#define FRAMES_DEPTH 60

/*
 * Return addresses of the callers of what the signal interrupted, innermost first, by frame
 * pointers (by the back chain on Power). `context` is the handler's third argument. Returns how
 * many: 0 where the code keeps none, or the architecture is not known. Async-signal-safe: it reads
 * no memory that may be missing.
 */
unsigned int pm_frames_walk(const void *context, uint64_t ret[FRAMES_DEPTH]);

#endif
