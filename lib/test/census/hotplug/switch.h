/* SPDX-License-Identifier: MIT */
/* A CPU that goes offline and comes back, in guests that may be disturbed. */
#ifndef SWITCH_H
#define SWITCH_H

#include <stdbool.h>

extern int switch_cpu;		/* the CPU; -1: none can be switched */

void switch_find(void);
bool switch_is_allowed(void);

/* '0' for off, '1' for on. Returns 0 or -errno. */
int switch_write(char value);

/* Returns in a child; the parent waits, puts the CPU back and ends as the child did. */
void switch_stand_guard(void);

#endif
