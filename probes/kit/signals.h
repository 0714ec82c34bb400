/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals that events send. Included behind probe.h.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Let an event signal that thread with a real-time signal, which is blocked here and from now on
 * in new threads. Returns 0 or -errno. */
int ask_for_signals(int fd, int number, pid_t tid);
/* Let an event signal a thread: ask_for_signals(), which the test needs. */
void must_get_signals(int fd, int number, pid_t tid);
/* Take one such signal; false when none comes within that time. `ret` may be NULL. */
bool take_signal(int number, int within_ms, siginfo_t *ret);

#endif
