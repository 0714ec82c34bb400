/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How numbers and counts are made false: change.c.
 */
#ifndef CHANGE_H
#define CHANGE_H

#include "../../../lib/pm_sys.h"

/* A number of 2, 4 or 8 bytes, in one of the ways of fields.def; K is a thousandth. */
void change_number(void *number, size_t size, char way);
/* What read(2), a sample or a READ record gave, by the lie that is told. */
void change_counts(struct pm_counts *counts, uint64_t read_format);

struct event;
/* The same of what read(2) gave of this event: counts.c */
void change_counts_of(struct event *event, struct pm_counts *counts);

#endif
