/* SPDX-License-Identifier: MIT */
/* A thread has one tracer: what the program is about to trace itself is let go for that. */
#ifndef HANDOVER_H
#define HANDOVER_H

#include "explain.h"

/*
 * A thread is stopped where it calls ptrace(2). Returns whether it is to be left alone: it goes on
 * later, or has been let go. `program` is the process that explain started, which keeps its tracer;
 * 0 where it started none.
 */
bool handover_begin(const struct call *call, pid_t program);

/*
 * A thread is stopped where it makes any call, whose result is still wanted. That stop took the
 * interrupt's place: it is interrupted again, and stops behind the call.
 */
void handover_enters(pid_t tid);

/* A thread stopped elsewhere: lets it go, with that signal, if somebody is to trace it. */
bool handover_stop(pid_t tid, int signal);

/* It has ended. */
void handover_gone(pid_t tid);

#endif
