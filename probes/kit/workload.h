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

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t now_ns(void);
/* Keep this thread on a CPU for that long. */
void spin_ns(uint64_t ns);
/*
 * Sleep, wake up and spin for 2 ms, also as a job for worker_do(). The scheduler clock, which
 * times events, may be held within a tick, and a starved guest gets its ticks late. A thread that
 * wakes up has got one, so the clock goes on.
 */
int wake_and_spin(void *unused);

/* How often this thread has been switched away from so far (getrusage(2)). */
uint64_t count_switches(void);
/* Sleep shortly until this thread was switched away from that many more times. A sleep that is
 * over at once is no switch. Gives up after a thousand. Returns how many switches there were. */
uint64_t cause_switches(unsigned int times);

#endif
