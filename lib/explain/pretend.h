/* SPDX-License-Identifier: MIT */
/* --pretend: a refused open is answered with an event that counts nothing. */
#ifndef PRETEND_H
#define PRETEND_H

#include "explain.h"

/* NULL: a listener and this machine can do it; else why not. */
const char *pretend_obstacle(void);
bool pretend_can(int listener);

/*
 * The thread is stopped behind a call that was refused: has it made again, and answered by
 * pretend_answer() then, where a program could go on with an event in its place.
 */
void pretend_again(const struct call *call, int64_t result);

/* Answers a call of a pretended event. False: it is another, which the kernel carries out. */
bool pretend_answer(int listener, uint64_t id, struct call *call);

#endif
