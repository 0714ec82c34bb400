/* SPDX-License-Identifier: MIT */
/* Results that are found in the process's descriptors, without a second stop of the thread. */
#ifndef LATER_H
#define LATER_H

#include "explain.h"

/*
 * Whether what this call returns can be found afterwards: its thread opened one event after the
 * other, kept them, and got the next number each time.
 */
bool later_can(const struct call *call);

/* The call goes on; its result is told to watch_result() before anything else of its thread. */
void later_open(const struct call *call);

/* A notification came, before it is looked at; NULL: the program has ended. */
void later_settle(const struct call *call);

/* A call whose result was seen by a stop. */
void later_note(const struct call *call, int64_t result);

#endif
