/* SPDX-License-Identifier: MIT */
/* What is told at the end. */
#ifndef TELL_H
#define TELL_H

#include <stdio.h>

#include "shape.h"

/* Asks refused calls again, and looks for who refused them: reason.c. */
void find_reasons(void);

void tell_text(const struct start *start);

/* Of a program that asked nothing: the files that it did not get before. */
void tell_files(bool is_explained);	/* by something else; then what is closed alone */

/* A paragraph that begins with "note". */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

void tell_json(const struct start *start, FILE *file);

/* What was asked, to be held against other kernels: reports/schema/recording.json. */
void write_recording(FILE *file);

#endif
