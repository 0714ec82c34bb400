/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lies that are linked into a probe, between it and the calls it makes. The environment variable
 * PERFMODES_LIE names the one that is told. PERFMODES_LIES_ASKED names a file: each lie that could
 * have been told is written there once, so that a probe is run on those alone that concern it.
 */
#ifndef LIES_H
#define LIES_H

#include <stdbool.h>
#include <stddef.h>

#include "../../../lib/pm_abi.h"
#include "lies.def"

#define NUMBER(area, name, text) LIE_##area##_##name,
#define TYPE_NUMBERS(type) LIE_no_##type, LIE_twice_##type,
enum {
	EVERY_LIE(NUMBER)
	RECORD_TYPES(TYPE_NUMBERS)
	LIE_FIELDS			/* the first of those that fields.def makes */
};
#undef NUMBER
#undef TYPE_NUMBERS

/* The ways of fields.def as letters; a thousandth is K here. */
#define LIE_WAYS "pzmhdkKfbsg"

/* How many there are, and the name of each: "poll.always", "switch.tid.more". names.c */
int lies_count(void);
const char *lie_name(int number);
int lie_number(const char *name);	/* or -1 */
/* The number of the first way of a field, by its place in fields.def; *ret_ways its letters. */
int lie_of_field(int field, const char **ret_ways);

/* Whether this one is told now: each place where it could be asks. lies.c */
bool lie(int number);
/* The same, where it is no place for it: nothing is noted. */
bool lie_is_told(int number);

/* Take the page faults of lies now, where they are no longer in this process's way. lies.c */
void lies_own_pages(void);

/* Take the program's code away, if that is the lie. machine.c */
void lies_take_code(void);

/* Whether an event for branches of Power is refused: calls_ebb.c */
bool lies_refuse_ebb(const struct perf_event_attr *attr, long pid, long group);

/* The errno of an open that the kernel does not get to see, or 0: refusals.c */
int lies_refuse(const struct perf_event_attr *attr, void *asked, long pid, long cpu,
		unsigned long flags);
/* Whether this thread has any capability. */
bool lies_have_capability(void);
/* What the answer of an open becomes; like it, -1 with errno for a refusal. */
long lies_answer(long fd, const struct perf_event_attr *attr, long pid, unsigned long flags);

/* Note that attr-NAME and refuse-NAME, which a system call filter plays, could be told. */
void lies_use_attr(const char *name);

#endif
