/* SPDX-License-Identifier: MIT */
/* Who else holds memory of rings; not installed. */
#ifndef PM_HELD_H
#define PM_HELD_H

#include <stdint.h>

/* How many kB of rings other processes of this user have mapped, and the number of one of them. */
uint64_t pm_rings_of_others(int *ret_holder);

#endif
