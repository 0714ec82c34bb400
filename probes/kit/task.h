/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a test runs, the threads and children it starts, and the signals it waits for.
 */
#ifndef TASK_H
#define TASK_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Move this thread to the nth CPU that it is allowed on (0, 1, ...). Returns the CPU or -errno. The
 * test ends as blocked where policy lets no thread choose its CPU. */
int move_to_nth_cpu(unsigned int nth);
/* How many CPUs this thread may run on. */
int count_cpus(void);

/* Run a function in a new thread and wait for its end. Returns 0 or -errno. */
int run_in_thread(void *(*function)(void *), void *argument);
/* Run a function in a forked child that dies with the test. Returns its pid or -errno. */
pid_t start_child(int (*function)(void *), void *argument);
/* Wait for a child. Returns its exit status, 128 + signal, or -errno; also the -errno of its
 * start. */
int wait_child(pid_t child);

/* Poll a descriptor once. Returns revents, 0 after the time-out, or -errno. */
int poll_once(int fd, short events, int timeout_ms);

#endif
