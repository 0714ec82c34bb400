/* SPDX-License-Identifier: MIT */
/* The administrator's switch over counters read in user space. */
#ifndef ACCESS_H
#define ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "../verdict.h"

/* YES when the switch is on, or there is none; it is turned on where `may_disturb` allows that. */
enum kind access_open(bool may_disturb, char *text, size_t size);

/* Off or on. False where that cannot or may not be done. */
bool access_set(bool on);

/* As it was; also when the program is ended by a signal. */
void access_restore(void);

#endif
