/* SPDX-License-Identifier: MIT */
/* The groups of points that ebb.c asks; not more than their order. */
#ifndef POINTS_H
#define POINTS_H

#include <stdint.h>

void ask_use(void);			/* use.c: open, start, stop, names, stacks */
void ask_tasks(void);			/* tasks.c: fork, exec, threads, adoption, eviction */
void ask_soak(uint64_t branches);	/* soak.c */
void ask_session(void);		/* session.c: the strategy ebb */
void ask_cost(void);			/* cost.c: of a branch, and of a signal */
int soak_child(void);

#endif
