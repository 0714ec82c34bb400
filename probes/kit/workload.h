/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work for the kernel to count: page faults, time on a CPU, system calls, switches.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdint.h>

#include "../../lib/pm_sys.h"

/* Cause exactly `count` minor page faults in this thread. Returns 0 or -errno. */
int cause_faults(unsigned int count);

uint64_t now_ns(void);
/* Keep this thread on a CPU for that long. */
void spin_ns(uint64_t ns);
/* Sleep first: the scheduler clock, which times events, may be held within a tick, and a starved
 * guest gets its ticks late; whoever wakes up has got one, and the clock goes on for its length. */
int wake_and_spin(void *unused);

/* How often this thread has been switched away from so far, by getrusage(2). */
uint64_t count_switches(void);
/* Sleep shortly until this thread was switched away from so many times more: a sleep that is over
 * at once is no switch. Gives up after a thousand. Returns how many switches there were. */
uint64_t cause_switches(unsigned int times);

#endif
