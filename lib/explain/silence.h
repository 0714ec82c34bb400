/* SPDX-License-Identifier: MIT */
/* What was accepted and gives nothing, or less than it seems. */
#ifndef SILENCE_H
#define SILENCE_H

#include "../policy/diagnosis/words.h"
#include "shape.h"

bool is_silent(const struct shape *shape);

/* "counted 0", "shared its counter: ran for less than half of the time" */
void put_silence(const struct shape *shape, struct pm_words *words);

/* Lines that explain it, on stdout. */
void say_silence(void);

#endif
