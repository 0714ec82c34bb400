/* SPDX-License-Identifier: MIT */
/* Programs of BPF that a program loads: refused, they come before any event. */
#ifndef LOAD_H
#define LOAD_H

#include "explain.h"

/* Before bpf(2). Returns whether its result is wanted. */
bool load_call(const struct call *call);

/* Asks again, as who loaded them. Returns an errno, or 0: one of each of those types loads. */
int load_refused(void);

/* Says that, and what to change. */
void load_tell(int error);

#endif
