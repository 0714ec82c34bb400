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
/* Map fresh pages, of a file or (fd -1) of none: writing is one fault a page. NULL: no memory. */
volatile char *map_fresh(int fd, unsigned int pages);
/* Write to each page once and touch nothing else. Walk the way once before counting exactly. */
void touch_pages(volatile char *area, unsigned int pages);
/* Write each byte from start[from] to start[to - 1] once. */
void write_bytes(volatile uint8_t *start, int from, int to);

uint64_t now_ns(void);
/* Keep this thread on a CPU for that long. */
void spin_ns(uint64_t ns);
/* The same for 2 ms, as a job for worker_do(). */
int spin_two_ms(void *unused);
/* Sleep first: the scheduler clock, which times events, may be held within a tick, and a starved
 * guest gets its ticks late; whoever wakes up has got one, and the clock goes on for its length. */
int wake_and_spin(void *unused);

/* Close that many numbers that are no descriptors: system calls with known arguments. */
void cause_closes(int first, int count);
/* How often this thread has been switched away from so far, by getrusage(2). */
uint64_t count_switches(void);
/* Sleep shortly until this thread was switched away from so many times more: a sleep that is over
 * at once is no switch. Gives up after a thousand. Returns how many switches there were. */
uint64_t cause_switches(unsigned int times);

#endif
