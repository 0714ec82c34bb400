/* SPDX-License-Identifier: MIT */
/* Filters of system calls that answer with SIGSYS, which ends a process that is not prepared. */
#ifndef FILTER_H
#define FILTER_H

#include <stdbool.h>

/*
 * Whether perf_event_open(2) ends this process, as doctor_ask_filter() found. Then the doctor does
 * not call it.
 */
extern bool doctor_deadly;

/*
 * Whether a call ends a child by SIGSYS: one that is unprepared, as programs are, or one with the
 * handler of the caller.
 */
bool doctor_ends(void (*call)(void), bool unprepared);

/* Asks that of perf_event_open(2). */
void doctor_ask_filter(bool unprepared);

/* What a filter has trapped since doctor_answer_traps(). */
struct traps {
	unsigned int count;
	int call;		/* the number of the first, -1 for none */
};

extern struct traps doctor_traps;

/* From now on a call that a filter traps (SECCOMP_RET_TRAP) says EPERM and is counted. */
void doctor_answer_traps(void);

#endif
