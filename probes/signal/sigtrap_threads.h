/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A variable that traps whichever thread writes to it, and threads that are created after the
 * event: what probes of SIGTRAP in threads share. Included behind probe.h.
 */
#ifndef SIGTRAP_THREADS_H
#define SIGTRAP_THREADS_H

#include "breakpoint.h"

#define THREADS 5
#define FIRST_DATA ((unsigned long)0x4004000300021001ull)	/* of a word's width */
#define SECOND_DATA ((unsigned long)0x5005000600072002ull)
#define WORD sizeof(void *)
#define MANY 100

static volatile int cells[4] __attribute__((aligned(64)));
static volatile unsigned long last_data;
static __thread volatile int traps, at_once;
static int trap_fd = -1;

/* sig_data lies behind the address, in a part of siginfo that is newer than C libraries. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	unsigned long data;

	(void)number;
	(void)context;
	memcpy(&data, (const char *)info + (WORD == 8 ? 16 : 12) + WORD, sizeof(data));
	last_data = data;
	traps++;
	/* Some kernels return to the write that was hit, and hit it again, for ever. */
	if (++at_once >= MANY)
		ioctl(trap_fd, PERF_EVENT_IOC_DISABLE, 0);
}

static void write_cell(volatile int *cell, int value)
{
	at_once = 0;
	*cell = value;
}

static struct perf_event_attr trapping(int cell, unsigned long data)
{
	struct perf_event_attr attr = attr_access(HW_BREAKPOINT_W, &cells[cell], 4);

	attr.sample_period = 1;
	attr.inherit = attr.inherit_thread = 1;
	attr.remove_on_exec = attr.sigtrap = 1;
	attr.sig_data = data;
	return attr;
}

/* A trapping event, and waiting threads that were created after it. */
static int must_trap(struct worker *workers)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	const struct perf_event_attr attr = trapping(0, FIRST_DATA);
	struct perf_event_attr without = attr;
	int fd;

	without.inherit_thread = without.remove_on_exec = without.sigtrap = 0;
	without.sig_data = 0;
	fd = trap_fd = ask_open(&attr, &without, 0, -1, "sigtrap and inherit_thread");
	sigaction(SIGTRAP, &action, NULL);
	for (int i = 0; i < THREADS; i++)
		must_start_worker(&workers[i], WORKER_THREAD);
	return fd;
}

static int write_once(void *cell)
{
	const int before = traps;

	write_cell(cell, before);
	return traps - before;
}

/* How many of the threads are trapped by one write each. */
static int trapped(struct worker *workers, int cell)
{
	int sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += worker_do(&workers[i], write_once, (void *)&cells[cell]);
	return sum;
}

#endif
