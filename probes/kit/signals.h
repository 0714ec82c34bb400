/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals that events send. Included behind probe.h.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Let an event send a thread a real-time signal. It is blocked in this thread, and in those that it
 * starts from now on. */
void must_get_signals(int fd, int number, pid_t tid);
/* Take one such signal; false when none comes within that time. `ret` may be NULL. Broken when
 * SIGIO came in its place. */
bool take_signal(int number, int within_ms, siginfo_t *ret);

#endif
