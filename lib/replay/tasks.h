/* SPDX-License-Identifier: MIT */
/*
 * Those who are watched, and what they do: a thread of this program, a child, and a process that is
 * no child. What is counted happens when they are told to.
 */
#ifndef TASKS_H
#define TASKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a breakpoint watches; each task writes, reads and calls it. */
extern volatile uint64_t watched[2];
void watched_call(void);

/* As many of each, at least, come of one piece of work. */
#define WORK_FAULTS 8
#define WORK_SWITCHES 4
#define WORK_CALLS 8

struct task {
	pid_t tid;
	int orders, answers;
	bool died;			/* of a signal that its event sends, or killed */
};

struct tasks {
	struct task thread, child, other;
};

/* Returns 0 or -errno. The processes end with this one. */
int tasks_start(struct tasks *ret);
void tasks_end(struct tasks *tasks);

/* Has it work, and waits until that is done; `exec`: in a program that it executes for it. */
bool task_work(struct task *task, unsigned int spin_us, bool exec);

/* The same, by this thread, on a CPU or (-1) where it is. False: it may not run there. */
bool work_here(unsigned int spin_us, int cpu);

/* This program as executed for work: serves its line until that is closed. */
int task_serve(int orders, int answers);

#endif
