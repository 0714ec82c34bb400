/* SPDX-License-Identifier: MIT */
/* The groups of points that ebb.c asks; not more than their order. */
#ifndef POINTS_H
#define POINTS_H

#include <stdint.h>

void ask_use(void);			/* use.c: open, start, stop, names, stacks */
void ask_tasks(void);			/* tasks.c: fork, exec, threads, adoption, eviction */
/* soak.c. Returns how many branches an emulator forgot meanwhile. */
uint64_t ask_soak(uint64_t branches);
void ask_session(uint64_t forgotten);	/* session.c: the strategy ebb, where that many were */
void ask_cost(uint64_t forgotten);	/* cost.c: of a branch, and of a signal */
int soak_child(void);

#endif
