/* SPDX-License-Identifier: MIT */
/* Parsing names of events, as its files share it; not installed. */
#ifndef PM_EVENT_H
#define PM_EVENT_H

#include "../spec/spec.h"

#define EVENT_NAME_MAX 255

/* What modifiers say, in the words of the attr. */
struct modes {
	bool no_user, no_kernel, no_hypervisor, no_idle, no_host, no_guest;
	bool guests_told;		/* G or H was there */
	bool most_precise, pinned, exclusive;
	bool read, weak;		/* of a list alone: S and W */
	unsigned int precise;		/* how often "p" */
};

/* What terms say that are of no PMU. Of a list alone: the name and the stacks. */
struct common_terms {
	bool rate_told;
	uint64_t period, frequency;
	const char *name;		/* within the text */
	size_t name_length;
	enum pm_listed_stacks stacks;
	unsigned int stack_bytes;
};

/* A name under way: what is not parsed yet, and what came of the rest. */
struct parsing {
	const char *name, *at;
	struct pm_diag *diag;
	struct perf_event_attr attr;
	struct modes modes;
	struct common_terms terms;
};

/* Says what is wrong with the word of `length` bytes at `word`. Returns -error. */
int pm_event_wrong(const struct parsing *parsing, int error, const char *word, size_t length,
		   const char *what);

/* One event that is the whole name: attr, modes and terms. */
int pm_event_parse_one(struct parsing *parsing);

/* What came of it. */
void pm_event_fill(const struct parsing *parsing, struct pm_event_spec *ret);

/* "cpu_core/event=0xc0,umask=1/": fills type and config, moves behind the second slash. */
int pm_event_parse_pmu(struct parsing *parsing);

/* The same with a PMU's event by its name alone, "slots": as its folder "events" has it. */
int pm_event_parse_alias(struct parsing *parsing, size_t length);

/* The generic event of that name: type and config. False: there is none. */
bool pm_event_generic(struct perf_event_attr *attr, const char *text, size_t length);

/* Bytes before the next comma, or `end`; a comma in a quoted name is not meant. */
size_t pm_event_term_length(const char *text, const char *end);

/* "period=1000,name=N" between slashes behind a generic event, of `size` bytes. */
int pm_event_common_terms(struct parsing *parsing, const char *list, size_t size);

/* One of them, for PMUs: 1 when it was one, 0 when it is none, -errno. */
int pm_event_common_term(struct parsing *parsing, const char *term, size_t length);

/* Letters behind a colon or the last slash, on top of what *modes has. */
int pm_event_modifiers(const struct parsing *parsing, const char *letters, size_t length,
		       struct modes *modes);

/* Flags of a spec. */
unsigned int pm_event_flags(const struct modes *modes);

/* A number of all `length` bytes, decimal or with 0x: 0; -EINVAL: none; -ERANGE: over 64 bits. */
int pm_event_number(const char *text, size_t length, uint64_t *ret);

/* Whether the word is `text` of `length` bytes; an empty one is none. */
bool pm_event_is_word(const char *word, const char *text, size_t length);

#endif
