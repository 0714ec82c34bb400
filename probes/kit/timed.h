/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events whose times are read. Included behind probe.h.
 */
#ifndef TIMED_H
#define TIMED_H

#include "../../lib/pm_sys.h"
#include "worker.h"

/* Let a worker (NULL: this thread) run until time_enabled is not 0, as a scheduler clock may tick
 * every 10 ms only. Returns what the event then reads; its read_format has both times. */
struct pm_counts spin_until_timed(int fd, struct worker *worker);

#endif
