/* SPDX-License-Identifier: MIT */
/* Tries what may end a program by a signal; not installed. */
#ifndef PM_TRIAL_H
#define PM_TRIAL_H

#include <stdbool.h>

/*
 * Whether `attempt` comes to its end: it runs in a child that shares the memory of this process,
 * while the calling thread waits, and a SIGSEGV, SIGILL or SIGBUS of it ends the child alone. No
 * handler of the program runs, no SIGCHLD is sent, and a debugger does not see the child. What
 * `attempt` opens is closed behind it; what it maps stays. False also where no child can be had.
 */
bool pm_trial(void (*attempt)(void *context), void *context);

#endif
