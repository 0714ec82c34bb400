/* SPDX-License-Identifier: MIT */
/* The gates of a run, each once, as the screen and JSON number them. */
#ifndef GATES_H
#define GATES_H

#include "reason.h"

/* Finds them. Returns how many; pointers to the first reason of each are in *ret. */
size_t gates_find(const struct reason **ret, size_t room);

/* The number of a reason's gate among them, from 1; 0 for none. */
size_t gate_number(const struct reason *const *gates, size_t count, const struct reason *reason);

/* Whether the advice of one holds all that the other one has: least privilege stands first. */
bool gate_advises(const struct reason *one, const struct reason *other);

#endif
