/* SPDX-License-Identifier: MIT */
/* Parsing names of events, as its files share it; not installed. */
#ifndef PM_EVENT_H
#define PM_EVENT_H

#include "../spec/spec.h"

#define EVENT_NAME_MAX 255

/* A name under way: what is not parsed yet, and what came of the rest. */
struct parsing {
	const char *name, *at;
	struct pm_diag *diag;
	struct perf_event_attr attr;
};

/* Says what is wrong with the word of `length` bytes at `word`. Returns -error. */
int pm_event_wrong(const struct parsing *parsing, int error, const char *word, size_t length,
		   const char *what);

/* "cpu_core/event=0xc0,umask=1/": fills type and config, moves behind the second slash. */
int pm_event_parse_pmu(struct parsing *parsing);

/* The generic event of that name: type and config. False: there is none. */
bool pm_event_generic(struct perf_event_attr *attr, const char *text, size_t length);

/* A number of all `length` bytes, decimal or with 0x: 0; -EINVAL: none; -ERANGE: over 64 bits. */
int pm_event_number(const char *text, size_t length, uint64_t *ret);

#endif
